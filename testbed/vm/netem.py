"""What a lab's WAN does, as arguments of tc-netem."""

import math

from testbed.netns.scenario import QUEUE_BDPS, Scenario

# netem counts whole frames against its rate, a WAN here IP packets.
_ETHERNET_BYTES = 14
# netem's queue counts packets, those on their way among them. By the smallest that crosses the WAN in numbers, so that
# it never drops what a queue of as many bytes would hold: acknowledgements are about as short.
_SMALLEST_PACKET_BYTES = 64
_SHORTEST_QUEUE_PACKETS = 1000


def _loss(fraction: float, burst: float) -> list[str]:
    if fraction == 0:
        return []
    if burst == 1:
        return ["loss", "random", f"{100 * fraction:.7g}%"]
    # Gilbert-Elliott as weft-wan has it: the bad state loses everything and lasts `burst` packets on average, the good
    # one loses nothing. netem wants the transitions to and from the bad state, then the losses of the bad and the good.
    to_bad = fraction / (burst * (1 - fraction))
    return ["loss", "gemodel", f"{100 * to_bad:.7g}%", f"{100 / burst:.7g}%", "100%", "0%"]


def direction(scenario: Scenario, loss: float) -> str:
    """Of one way."""
    held_bytes = scenario.bdp_bytes * (QUEUE_BDPS + 1)
    limit = max(_SHORTEST_QUEUE_PACKETS, math.ceil(held_bytes / _SMALLEST_PACKET_BYTES))
    words = ["limit", str(limit), "delay", f"{1000 * scenario.rtt_ms / 2:.0f}us", *_loss(loss, scenario.burst),
             "rate", f"{scenario.rate_bits:.0f}bit", str(-_ETHERNET_BYTES)]
    return " ".join(words)


def both_directions(scenario: Scenario) -> tuple[str, str]:
    fractions = scenario.loss_fractions
    return direction(scenario, fractions[0]), direction(scenario, fractions[-1])
