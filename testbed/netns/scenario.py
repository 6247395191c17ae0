"""One cell of a measurement: WAN, workload and endpoints; everything else follows from it the same way for every
policy, so that only the policy differs."""

import dataclasses
import math
from typing import Any

from testbed.netns import traffic, units
from testbed.netns.errors import UsageError

PMTUS = (256, 512, 1024, 2048, 4096)
OPERATIONS = ("write-imm", "write", "send", "read")
PSNS = 1 << 24
ROLES = ("gateway", "host")
# Repairs of the strongest baseline, RS(32,8) with headers, take this much of the WAN on top of the source packets.
OVERHEAD_ROOM = 0.35
QUEUE_BDPS = 3
# The part of the queue that windows are sized by. The rest is for what a rewind leaves behind: the flight it was in (decision 0086).
WINDOW_QUEUE_BDPS = 2
# Agents may send this much at once, whatever their share: the depth of their token bucket.
REPAIR_BURST_BYTES = 256 * 1024
# Ethernet to ICRC without payload of a WRITE MIDDLE: what a PMTU of payload takes at IP level.
IPV4_OVERHEAD_BYTES = 20 + 8 + 12 + 4
IPV6_OVERHEAD_BYTES = 40 + 8 + 12 + 4


@dataclasses.dataclass(frozen=True)
class Scenario:
    loss: str = "0"  # a fraction, or two: a to b, b to a
    burst: float = 1
    rtt: str = "30ms"
    rate: str = "200mbit"
    qps: int = 1
    messages: int = 300
    message_bytes: str = "1mib,4mib"
    classes: str = "exact:26"  # NAME:DSCP, equally many messages of each
    workload: str | None = None  # then of a training step, instead of message_bytes and classes
    op: str = "write-imm"
    pmtu: int = 1024
    psn: int | None = None  # where every queue pair starts; else at random
    ipv6: bool = False
    role: str = "gateway"  # of the agents; "host": each on the training host itself
    seed: int = 1
    pcap: bool = False

    def __post_init__(self) -> None:
        if self.pmtu not in PMTUS:
            raise UsageError(f"--pmtu {self.pmtu}", f"one of {', '.join(map(str, PMTUS))}")
        for name, allowed in (("op", OPERATIONS), ("role", ROLES)):
            if getattr(self, name) not in allowed:
                raise UsageError(f"--{name} {getattr(self, name)}", f"one of {', '.join(allowed)}")
        for name in ("qps", "messages", "seed"):
            if getattr(self, name) < 1:
                raise UsageError(f"--{name} {getattr(self, name)}", "at least 1")
        if self.psn is not None and not 0 <= self.psn < PSNS:
            raise UsageError(f"--psn {self.psn}", f"0 to {PSNS - 1}")
        if self.rtt_ms <= 0 or self.rate_bits <= 0:
            raise UsageError("--rtt and --rate must be above zero")
        if len(self.loss_fractions) > 2 or not all(0 <= p <= 1 for p in self.loss_fractions):
            raise UsageError(f"--loss {self.loss}", "a fraction such as 1e-3, or two for a>b,b>a")
        if not 1 <= self.burst < math.inf:
            raise UsageError(f"--burst {self.burst}", "at least 1, which means independent losses")
        if not self.sizes:
            raise UsageError("--message-bytes is empty", "sizes such as 1mib,4mib")

    @property
    def rate_bits(self) -> float:
        return units.rate_bits(self.rate)

    @property
    def rtt_ms(self) -> float:
        return units.milliseconds(self.rtt)

    @property
    def loss_fractions(self) -> list[float]:
        try:
            return [float(word) for word in self.loss.split(",")]
        except ValueError:
            raise UsageError(f"--loss {self.loss}", "a fraction such as 1e-3, or two for a>b,b>a") from None

    @property
    def traffic(self) -> traffic.Traffic | None:
        return None if self.workload is None else traffic.load(self.workload, self.messages, self.seed)

    @property
    def sizes(self) -> list[int]:
        """Different sizes of messages; without a workload, equally many are of each."""
        if self.traffic is not None:
            return sorted({message.bytes for message in self.traffic.messages})
        return [units.byte_count(word) for word in self.message_bytes.split(",") if word]

    @property
    def bdp_bytes(self) -> float:
        return self.rate_bits / 8 * self.rtt_ms / 1000

    @property
    def window_bytes(self) -> int:
        """Payload each queue pair may have unacknowledged.

        The windows of all together, with headers and with the most that repairs add in the long run and at once, fill
        the pipe and their part of the queue but do not overflow it: a tail drop would be a loss the WAN was not asked
        for. A window is at least one packet.
        """
        room = self.bdp_bytes * (1 + WINDOW_QUEUE_BDPS) - REPAIR_BURST_BYTES
        # On links so small that a burst of repairs outgrows the queue, a window still fills the pipe.
        on_the_way = max(room / (1 + OVERHEAD_ROOM), self.bdp_bytes)
        packet_bytes = self.pmtu + (IPV6_OVERHEAD_BYTES if self.ipv6 else IPV4_OVERHEAD_BYTES)
        packets = int(on_the_way / packet_bytes / self.qps)
        return max(1, packets) * self.pmtu

    @property
    def timeout_ms(self) -> int:
        """The local ACK timeout 4.096 us x 2^15, or 2^16 where that would be too near the RTT plus a full queue."""
        return 134 if self.rtt_ms <= 30 else 268

    @property
    def bytes_total(self) -> float:
        if self.traffic is not None:
            return sum(message.bytes for message in self.traffic.messages)
        return self.messages * sum(self.sizes) / len(self.sizes)

    @property
    def patience_s(self) -> float:
        """After which a run hangs rather than being slow: ten times what go-back-N at a loss of 1e-2 takes."""
        lossless_s = self.bytes_total * 8 / self.rate_bits + self.messages * self.rtt_ms / 1000
        return 60 + 40 * lossless_s

    def params(self) -> dict[str, Any]:
        """As results.json has them."""
        return {"workload": self.workload, "pmtu": self.pmtu, "window_bytes": self.window_bytes,
                "timeout_ms": self.timeout_ms, "messages": self.messages, "qps": self.qps,
                "message_bytes": self.sizes, "ipv6": self.ipv6, "op": self.op, "psn": self.psn, "role": self.role}
