"""RoCE packets of a capture file: what `weftctl decode` says of each, with its payload bytes."""

import dataclasses
import json
import pathlib
import struct
import subprocess
from typing import Any

WEFTCTL = pathlib.Path(__file__).resolve().parents[2] / "build/release/bin/weftctl"
_FILE_HEADER_BYTES = 24
_ICRC_BYTES = 4


@dataclasses.dataclass(frozen=True)
class Packet:
    fields: dict[str, Any]
    payload: bytes

    @property
    def name(self) -> tuple[int, int]:
        return self.fields["dest_qpn"], self.fields["psn"]

    @property
    def blank(self) -> bool:
        """Zeros only, as a filled packet delivers and weft-roce never sends."""
        return bool(self.payload) and not self.payload.strip(b"\0")


def frames(path: pathlib.Path) -> list[bytes]:
    """Of a pcap file in this machine's byte order, as tcpdump writes it."""
    data = path.read_bytes()
    found, at = [], _FILE_HEADER_BYTES
    while at < len(data):
        captured_bytes = struct.unpack_from("=I", data, at + 8)[0]
        found.append(data[at + 16:at + 16 + captured_bytes])
        at += 16 + captured_bytes
    return found


def roce_packets(path: pathlib.Path, dst: str) -> list[Packet]:
    """Those to `dst`, in the order of the capture."""
    decoded = subprocess.run([WEFTCTL, "decode", path, "--json"], capture_output=True, text=True, check=True).stdout
    packets = []
    for frame, line in zip(frames(path), map(json.loads, decoded.splitlines()), strict=True):
        if line["kind"] == "roce" and line["dst"] == dst:
            end = len(frame) - _ICRC_BYTES - line["pad"]
            packets.append(Packet(line, frame[end - line["payload"]:end]))
    return packets
