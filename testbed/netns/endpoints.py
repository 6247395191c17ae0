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
# Before the first message that counts, under every policy alike. Agents protect nothing until they have greeted each
# other, about one and a half round trips after the first packet; a job that runs for days does not see that.
WARMUP_MESSAGES = 4


@dataclasses.dataclass(frozen=True)
class Transfer:
    """What the two ends say about it (weft-roce/1)."""

    requester: dict[str, Any]
    responder: dict[str, Any]


class Endpoints:
    """Sends every message from host-a to host-b: made, then run(), then finish(). Between the two the agents end, so
    that their fill log is whole when the responder reads it."""

    def __init__(self, topology: Topology, scenario: Scenario, folder: pathlib.Path, fill_log: pathlib.Path | None):
        self._topology = topology
        self._scenario = scenario
        self._folder = folder
        if scenario.traffic is not None:
            self._workload.write_text(scenario.traffic.json_lines())
        own = [] if fill_log is None else ["--fill-log", str(fill_log)]
        self._responder = Process(topology["host-b"], [*self._arguments("responder", HOST_B, HOST_A), *own],
                                  folder / "b.log")
        self._requester: Process | None = None

    def run(self) -> None:
        """Returns when the last message has ended."""
        self._responder.wait_log("ready")
        self._requester = Process(self._topology["host-a"], self._arguments("requester", HOST_A, HOST_B),
                                  self._folder / "a.log")
        self._requester.wait(self._scenario.patience_s)

    def finish(self) -> Transfer:
        """A queue pair that failed is a result, not an error."""
        assert self._requester is not None
        self.kill()
        for process, role in ((self._requester, "requester"), (self._responder, "responder")):
            if not self._out(role).exists():
                raise LabError(f"{role}: {process.complaint()}")
        return Transfer(**{role: json.loads(self._out(role).read_text()) for role in ("requester", "responder")})

    def kill(self) -> None:
        for process in (self._requester, self._responder):
            if process is not None:
                process.stop()

    @property
    def _workload(self) -> pathlib.Path:
        return self._folder / "workload.jsonl"

    def _out(self, role: str) -> pathlib.Path:
        return self._folder / f"{role}.json"

    def _arguments(self, role: str, own: Host, other: Host) -> list[str]:
        scenario = self._scenario
        family = "ipv6" if scenario.ipv6 else "ipv4"
        messages = ["--workload", str(self._workload)] if scenario.traffic is not None else [
            "--messages", str(scenario.messages), "--message-bytes", ",".join(map(str, scenario.sizes)),
            "--class", scenario.classes]
        psn = [] if scenario.psn is None else ["--psn", str(scenario.psn)]
        return [
            str(PROGRAMS / "weft-roce"), role, "--interface", "eth0",
            "--local", getattr(own, family), "--peer", getattr(other, family), "--peer-mac", other.mac, *messages, *psn,
            "--op", scenario.op, "--warmup", str(WARMUP_MESSAGES), "--qps", str(scenario.qps),
            "--pmtu", str(scenario.pmtu), "--rate", scenario.rate, "--window", str(scenario.window_bytes),
            "--timeout", f"{scenario.timeout_ms}ms",
            "--retry", str(RETRIES), "--ack-every", str(ACK_EVERY_PACKETS), "--seed", str(scenario.seed),
            "--out", str(self._out(role))]
