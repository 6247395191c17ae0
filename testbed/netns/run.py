"""`lab run`: policies and seeds measured one after the other in one lab, interleaved in time, each against the lossless
bound of its seed."""

import dataclasses
import json
import pathlib
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from testbed.netns import results
from testbed.netns.errors import LabError, UsageError, VoidRun
from testbed.netns.measure import Measurement, measure, tail_drops
from testbed.netns.policy import Policy, load
from testbed.netns.scenario import Scenario
from testbed.netns.topology import Topology, wan_mtu_for
from testbed.report import table

# A measurement the machine spoiled is made again this often; one busy moment need not cost a run of minutes.
ATTEMPTS = 3

TOO_MUCH_SENT = "more was sent than windows, queue and rate allow"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclasses.dataclass(frozen=True)
class Sweep:
    """What is measured: every policy in every cell with every seed. The cells differ in what the WAN loses, and in
    nothing the lossless bound would see."""

    cells: Sequence[Scenario]
    policies: Sequence[Policy]
    seeds: Sequence[int]

    @property
    def runs(self) -> int:
        return len(self.seeds) * (1 + len(self.cells) * len(self._lossy_policies))

    @property
    def _lossy_policies(self) -> list[Policy]:
        return [policy for policy in self.policies if not policy.lossless]

    def steps(self) -> Iterator[tuple[Policy, Scenario]]:
        """In the order in which they are run: what the machine does meanwhile hits all policies alike."""
        for seed in self.seeds:
            yield load("lossless"), dataclasses.replace(self.cells[0], seed=seed)
            for cell in self.cells:
                for policy in self._lossy_policies:
                    yield policy, dataclasses.replace(cell, seed=seed)


def _label(policy: Policy, scenario: Scenario) -> str:
    wan = "" if policy.lossless else f"-loss-{scenario.loss}-burst-{scenario.burst:g}"
    return f"{policy.name}{wan}-seed-{scenario.seed}"


def _dropped(packets: int) -> str:
    return f"{packets} packets dropped at the tail of the WAN's queue; the cell is invalid"


def _measure(topology: Topology, policy: Policy, scenario: Scenario, out: pathlib.Path) -> Measurement:
    folder = out / _label(policy, scenario)
    spoiled: list[str] = []
    for attempt in range(ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            measurement = measure(topology, policy, scenario, folder)
            break
        except VoidRun as error:
            if attempt + 1 == ATTEMPTS:
                raise
            spoiled.append(f"an attempt at {_label(policy, scenario)} was void: {error}")
            say(f"lab: {spoiled[-1]}; once more")
    lost = tail_drops(measurement)
    if lost:
        invalid = f"{_label(policy, scenario)}: {_dropped(lost)}"
        if policy.lossless:  # the bound of every other run
            raise LabError(invalid, f"{TOO_MUCH_SENT}; see {folder / 'wan.json'}")
        spoiled.append(invalid)
        say(f"lab: {invalid}")
    return dataclasses.replace(measurement, skipped=spoiled)


def _progress(number: int, sweep: Sweep, entry: dict[str, Any], scenario: Scenario, seconds: float) -> str:
    lossless = entry["policy"] == "lossless"
    loss = "no loss" if lossless else f"loss {scenario.loss} burst {scenario.burst:g}"
    slowdown = "" if lossless else f", slowdown mean {table.number(entry['slowdown']['mean'])}"
    if entry["slowdown"]["p99"] is not None and not lossless:
        slowdown += f" p99 {table.number(entry['slowdown']['p99'])}"
    link = entry["throughput"]["link_mbit"]
    used = "nothing completed" if link is None else f"{100 * link * 1e6 / scenario.rate_bits:.0f} % of the link"
    width = len(str(sweep.runs))
    return (f"[{number:{width}}/{sweep.runs}] {entry['policy']:<12} {loss:<21} seed {scenario.seed}: "
            f"{seconds:5.1f} s, {used}{slowdown}")


def measure_all(name: str, sweep: Sweep, out: pathlib.Path) -> dict[str, Any]:
    """Every run of the sweep, as results.json and report.html in `out`. The lab is gone afterwards, whatever
    happens."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}", "a folder, made if it is not there") from None
    topology = Topology(name)
    topology.claim()
    runs: list[dict[str, Any]] = []
    try:
        topology.create(wan_mtu_for(sweep.cells[0].pmtu), sweep.cells[0].role)
        for number, (policy, scenario) in enumerate(sweep.steps(), 1):
            began = time.monotonic()
            measured = _measure(topology, policy, scenario, out)
            if policy.lossless:
                reference = measured
                # The bound is the same in every cell, and a row of each.
                entries = [results.run_of(dataclasses.replace(measured, scenario=dataclasses.replace(
                    cell, seed=scenario.seed)), reference) for cell in sweep.cells]
            else:
                entries = [results.run_of(measured, reference)]
            runs += entries
            say(_progress(number, sweep, entries[0], scenario, time.monotonic() - began))
    finally:
        topology.delete()
    document = results.document(runs)
    (out / "results.json").write_text(json.dumps(document, indent=1) + "\n")
    from testbed.report import page  # takes a second, and most commands of the lab do without
    (out / "report.html").write_text(page.render(document))
    return document


def judge(document: dict[str, Any]) -> None:
    """What makes a run a failure although it could be measured, the worst first."""
    for entry in document["runs"]:
        where = f"{entry['policy']}, seed {entry['seed']}"
        corrupt = sum(figures["corrupt_bytes"] for figures in entry["classes"].values())
        if corrupt:
            raise LabError(f"{where}: {corrupt} bytes arrived corrupt, or as zeros that no agent declared")
        if entry["qp_errors"]:
            raise LabError(f"{where}: {entry['qp_errors']} queue pairs failed",
                           "is the WAN worse than the retries can bear?")
    for entry in document["runs"]:
        if entry["wan"]["tail_drops"]:
            raise LabError(f"{entry['policy']}, seed {entry['seed']}: {_dropped(entry['wan']['tail_drops'])}",
                           TOO_MUCH_SENT)


def run(name: str, sweep: Sweep, out: pathlib.Path) -> None:
    document = measure_all(name, sweep, out)
    print()
    print(table.render(document))
    print(f"results: {out / 'results.json'}\nreport:  {out / 'report.html'}")
    judge(document)
