"""`lab run`: the lossless bound and then the policy, both of the same seed, in a lab of its own."""

import json
import pathlib
import shutil
import sys
from typing import Any

from testbed.netns import results
from testbed.netns.errors import LabError
from testbed.netns.measure import Measurement, measure, tail_drops
from testbed.netns.policy import Policy, load
from testbed.netns.scenario import Scenario
from testbed.netns.topology import Topology, wan_mtu_for
from testbed.report import table


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _measure(topology: Topology, policy: Policy, scenario: Scenario, out: pathlib.Path) -> Measurement:
    folder = out / policy.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _say(f"lab: {policy.name}, seed {scenario.seed}")
    measurement = measure(topology, policy, scenario, folder)
    lost = tail_drops(measurement)
    if lost:
        raise LabError(f"{policy.name}: {lost} packets dropped at the tail of the WAN's queue; the cell is invalid",
                       "more was sent than windows, queue and rate allow; see wan.json")
    return measurement


def run(name: str, policy_name: str, scenario: Scenario, out: pathlib.Path) -> None:
    """Writes results.json into `out` and a table to standard output. The lab is gone afterwards, whatever happens."""
    policy = load(policy_name)
    out.mkdir(parents=True, exist_ok=True)
    topology = Topology(name)
    topology.check_free()
    try:
        topology.create(wan_mtu_for(scenario.pmtu))
        reference = _measure(topology, load("lossless"), scenario, out)
        measured = reference if policy.lossless else _measure(topology, policy, scenario, out)
    finally:
        topology.delete()
    document = results.document([results.run_of(measured, reference)])
    (out / "results.json").write_text(json.dumps(document, indent=1) + "\n")
    print(table.render(document))
    print(_throughput_line(document["runs"][0], scenario))
    print(f"results: {out / 'results.json'}")
    _judge(document["runs"][0])


def _throughput_line(entry: dict[str, Any], scenario: Scenario) -> str:
    payload, link = entry["throughput"]["payload_mbit"], entry["throughput"]["link_mbit"]
    if payload is None:
        return "no message completed"
    share = link * 1e6 / scenario.rate_bits
    return f"{payload:.1f} Mbit/s of payload; {link:.1f} Mbit/s on the WAN, {100 * share:.0f} % of its rate"


def _judge(entry: dict[str, Any]) -> None:
    corrupt = sum(figures["corrupt_bytes"] for figures in entry["classes"].values())
    if corrupt:
        raise LabError(f"{corrupt} bytes arrived corrupt")
    if entry["qp_errors"]:
        raise LabError(f"{entry['qp_errors']} queue pairs failed", "is the WAN worse than the retries can bear?")
