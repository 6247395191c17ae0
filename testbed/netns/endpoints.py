"""weft-roce at both ends of a lab."""

import dataclasses
import json
import pathlib
from typing import Any

from testbed.netns.errors import LabError
from testbed.netns.process import Process
from testbed.netns.scenario import Scenario
from testbed.netns.topology import HOST_A, HOST_B, Host, Topology
from testbed.netns.wan import PROGRAMS

ACK_EVERY_PACKETS = 16
RETRIES = 7


@dataclasses.dataclass(frozen=True)
class Transfer:
    """What the two ends say about it (weft-roce/1)."""

    requester: dict[str, Any]
    responder: dict[str, Any]


def _arguments(role: str, own: Host, other: Host, scenario: Scenario, out: pathlib.Path) -> list[str]:
    family = "ipv6" if scenario.ipv6 else "ipv4"
    return [
        str(PROGRAMS / "weft-roce"), role, "--interface", "eth0",
        "--local", getattr(own, family), "--peer", getattr(other, family), "--peer-mac", other.mac,
        "--messages", str(scenario.messages), "--message-bytes", ",".join(map(str, scenario.sizes)),
        "--qps", str(scenario.qps), "--pmtu", str(scenario.pmtu), "--rate", scenario.rate,
        "--window", str(scenario.window_bytes), "--timeout", f"{scenario.timeout_ms}ms",
        "--retry", str(RETRIES), "--ack-every", str(ACK_EVERY_PACKETS), "--seed", str(scenario.seed),
        "--out", str(out)]


def transfer(topology: Topology, scenario: Scenario, folder: pathlib.Path) -> Transfer:
    """Sends every message from host-a to host-b. A queue pair that failed is a result, not an error."""
    outs = {"responder": folder / "b.json", "requester": folder / "a.json"}
    responder = Process(topology["host-b"], _arguments("responder", HOST_B, HOST_A, scenario, outs["responder"]),
                        folder / "b.log")
    try:
        responder.wait_log("ready")
        requester = Process(topology["host-a"], _arguments("requester", HOST_A, HOST_B, scenario, outs["requester"]),
                            folder / "a.log")
        try:
            requester.wait(scenario.patience_s)
        finally:
            requester.stop()
    finally:
        responder.stop()
    for process, role in ((requester, "requester"), (responder, "responder")):
        if not outs[role].exists():
            raise LabError(f"{role}: {process.complaint()}")
    return Transfer(**{role: json.loads(path.read_text()) for role, path in outs.items()})
