"""Packet captures of interfaces of a lab, in both directions, whole frames."""

import pathlib
import re
import signal
import time
from collections.abc import Mapping

from testbed.netns.errors import LabError
from testbed.netns.process import Process
from testbed.netns.topology import Topology

BUFFER_KIB = 65536
# tcpdump sees a part of its buffer that is not full after a second, and on a signal forgets what it has not seen.
UNSEEN_S = 1.2
# Both ends of the WAN: what entered and what left it.
WAN_ENDS = {"wan-a": ("wan", "a0"), "wan-b": ("wan", "b0")}


class Capture:
    """tcpdump into NAME.pcap on the node and interface of each point."""

    def __init__(self, topology: Topology, points: Mapping[str, tuple[str, str]], folder: pathlib.Path):
        self._dumps = []
        for name, (node, interface) in points.items():
            dump = Process(topology[node],
                           ["tcpdump", "-Z", "root", "-n", "-s", "0", "-B", str(BUFFER_KIB), "-i", interface,
                            "-w", str(folder / f"{name}.pcap")],
                           folder / f"tcpdump-{name}.log")
            self._dumps.append(dump)
            dump.wait_log("listening on")

    def stop(self) -> None:
        """Ends it. A capture with holes is an error: results could not be recomputed from it."""
        time.sleep(UNSEEN_S)
        for dump in self._dumps:
            dump.stop(signal.SIGINT)
            summary = dump.log.read_text(errors="replace")
            captured, received, dropped = (re.search(rf"(\d+) packets? {what}", summary)
                                           for what in ("captured", "received by filter", "dropped by kernel"))
            if not (captured and received and dropped) or int(dropped[1]) or captured[1] != received[1]:
                raise LabError(f"tcpdump missed packets: {dump.complaint()}",
                               "fewer --messages, a lower --rate, or an --out on a faster disk")

    def kill(self) -> None:
        for dump in self._dumps:
            dump.stop()
