"""Runs one policy once in a lab that is up, and collects what every program said."""

import contextlib
import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

from testbed.netns.agents import Agents
from testbed.netns.capture import WAN_ENDS, Capture
from testbed.netns.endpoints import Endpoints, Transfer
from testbed.netns.errors import VoidRun
from testbed.netns.policy import Policy
from testbed.netns.scenario import QUEUE_BDPS, Scenario
from testbed.netns.topology import Topology
from testbed.netns.wan import Wan, WanSettings

# Of a round trip, by one packet in a hundred: what a busy machine adds beyond this is no property of any policy.
TOLERATED_LATENESS = 1 / 3


@dataclasses.dataclass(frozen=True)
class Measurement:
    policy: Policy
    scenario: Scenario  # as asked for
    transfer: Transfer
    wan: dict[str, Any]  # weft-wan's statistics
    losses: list[dict[str, Any]]  # its loss log
    agents: dict[str, Any]  # their statistics, by side; empty without agents
    skipped: Sequence[str] = ()  # what was left out or went otherwise than planned


def wan_settings(scenario: Scenario, lossless: bool) -> WanSettings:
    return WanSettings(rate=scenario.rate, delay=f"{scenario.rtt_ms / 2}ms", loss="0" if lossless else scenario.loss,
                       burst=1 if lossless else scenario.burst, queue=f"{QUEUE_BDPS}bdp", seed=scenario.seed)


def check_punctual(wan_statistics: dict[str, Any], scenario: Scenario) -> None:
    late_us = wan_statistics["late_us"]["p99"]
    if late_us and late_us > 1000 * scenario.rtt_ms * TOLERATED_LATENESS:
        raise VoidRun(f"the WAN emulator sent packets {late_us / 1000:.0f} ms late, which voids the run",
                      "is the machine overloaded? try a lower --rate")


def measure(topology: Topology, policy: Policy, scenario: Scenario, folder: pathlib.Path) -> Measurement:
    """Leaves every program's output and log in `folder`, which is there and empty."""
    with contextlib.ExitStack() as running:
        wan = Wan(topology["wan"], wan_settings(scenario, policy.lossless), folder)
        running.callback(wan.process.stop)
        capture = Capture(topology, WAN_ENDS, folder) if scenario.pcap else None
        if capture:
            running.callback(capture.kill)
        agents = Agents(topology, policy, scenario, folder) if policy.agents else None
        if agents:
            running.callback(agents.kill)
        endpoints = Endpoints(topology, scenario, folder, agents.fill_log if agents else None)
        running.callback(endpoints.kill)
        endpoints.run()
        agent_statistics = agents.stop() if agents else {}
        done = endpoints.finish()
        if capture:
            capture.stop()
        statistics = wan.stop()
    for role in ("requester", "responder"):
        overruns = getattr(done, role)["totals"]["rx_overruns"]
        if overruns:
            raise VoidRun(f"the {role}'s socket lost {overruns} frames, which voids the run",
                          "is the machine overloaded? try a lower --rate")
    check_punctual(statistics, scenario)
    return Measurement(policy, scenario, done, statistics, wan.losses(), agent_statistics)


def tail_drops(measurement: Measurement) -> int:
    return sum(measurement.wan[direction]["tail_drops"] for direction in ("forward", "reverse"))
