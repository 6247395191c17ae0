"""`lab demo`: what go-back-N, three ways of repairing it, and a WAN without loss make of the same training traffic."""

import pathlib
import time
from typing import Any

from testbed.netns.policy import load
from testbed.netns.run import Sweep, judge, measure_all, say
from testbed.netns.scenario import Scenario
from testbed.report import table
from testbed.report.aggregate import cells

POLICIES = ("gbn", "uniform-fec", "smart", "weft")
# A clean long-haul link with short bursts, and a bad one. 120 messages are the fewest that give a p99 and all classes.
CELLS = tuple(Scenario(loss=loss, burst=burst, rtt="30ms", rate="200mbit", workload="training", messages=120)
              for loss, burst in (("1e-3", 4), ("1e-2", 1)))

_BEFORE = """\
Two datacenters 30 ms apart, 200 Mbit/s between them, in network namespaces of this machine. The same training
traffic is sent five ways over it; this takes about five minutes."""


def closing(document: dict[str, Any]) -> str:
    """What to look at, with the figures of the worst WAN."""
    rows = {row.policy: row for row in cells(document)[-1].rows}

    def slowdown(policy: str) -> str:
        return table.number(rows[policy].median("slowdown", "p99"), 1)

    def overhead(policy: str) -> str:
        return table.share(rows[policy].overhead() or 0, 1)

    return ("Look at 'slowdown p99', how many times longer the slowest messages take than without loss: in the last "
            f"table {slowdown('gbn')} for\nRoCE alone (gbn), {slowdown('weft')} with weft for {overhead('weft')} more bytes, "
            f"{slowdown('uniform-fec')} when everything is coded alike for {overhead('uniform-fec')} (uniform-fec).")


def demo(name: str, out: pathlib.Path) -> None:
    began = time.monotonic()
    say(_BEFORE)
    document = measure_all(name, Sweep(CELLS, [load(policy) for policy in POLICIES], seeds=[1]), out)
    print()
    print(table.render(document))
    print(f"Measured in {time.monotonic() - began:.0f} s. Plots and classes: {out / 'report.html'}; "
          f"figures: {out / 'results.json'}")
    print(closing(document))
    judge(document)
