"""`lab demo`: what go-back-N, three ways of repairing it, and a WAN without loss make of the same training traffic."""

import pathlib
import time

from testbed.netns.policy import load
from testbed.netns.run import Sweep, judge, measure_all, say
from testbed.netns.scenario import Scenario
from testbed.report import table

POLICIES = ("gbn", "uniform-fec", "smart", "weft")
# A clean long-haul link with short bursts, and a bad one. 120 messages are the fewest that give a p99 and all classes.
CELLS = tuple(Scenario(loss=loss, burst=burst, rtt="30ms", rate="200mbit", workload="training", messages=120)
              for loss, burst in (("1e-3", 4), ("1e-2", 1)))

_BEFORE = """\
Two datacenters 30 ms apart, 200 Mbit/s between them, in network namespaces of this machine. The same training
traffic is sent five ways over it; this takes about five minutes."""
_AFTER = """\
Look at 'slowdown p99': how much longer the slowest messages take than on a WAN without loss. Plain RoCE (gbn) pays
round trips for every loss; 'weft' should be near 1, at a lower 'overhead' than coding everything (uniform-fec)."""


def demo(name: str, out: pathlib.Path) -> None:
    began = time.monotonic()
    say(_BEFORE)
    document = measure_all(name, Sweep(CELLS, [load(policy) for policy in POLICIES], seeds=[1]), out)
    print()
    print(table.render(document))
    print(f"Measured in {time.monotonic() - began:.0f} s. {_AFTER}")
    print(f"Plots: {out / 'report.html'}   Figures: {out / 'results.json'}")
    judge(document)
