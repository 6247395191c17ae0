"""Packet captures at both ends of the WAN: what entered and what left it, in both directions, whole frames."""

import pathlib
import re
import signal

from testbed.netns.errors import LabError
from testbed.netns.process import Process
from testbed.netns.topology import Topology

BUFFER_KIB = 65536


class Capture:
    """tcpdump on a0 and b0 of the WAN node, into wan-a.pcap and wan-b.pcap."""

    def __init__(self, topology: Topology, folder: pathlib.Path):
        self._dumps = []
        for side in ("a", "b"):
            dump = Process(topology["wan"],
                           ["tcpdump", "-Z", "root", "-n", "-s", "0", "-B", str(BUFFER_KIB), "-i", f"{side}0",
                            "-w", str(folder / f"wan-{side}.pcap")],
                           folder / f"tcpdump-{side}.log")
            self._dumps.append(dump)
            dump.wait_log("listening on")

    def stop(self) -> None:
        """Ends it. A capture with holes is an error: results could not be recomputed from it."""
        for dump in self._dumps:
            dump.stop(signal.SIGINT)
            dropped = re.search(r"(\d+) packets? dropped by kernel", dump.log.read_text(errors="replace"))
            if dropped is None or int(dropped[1]):
                raise LabError(f"tcpdump missed packets: {dump.complaint()}",
                               "fewer --messages, a lower --rate, or an --out on a faster disk")

    def kill(self) -> None:
        for dump in self._dumps:
            dump.stop()
