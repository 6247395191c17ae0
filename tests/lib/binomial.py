"""How many of `trials` independent events of probability `p` happen, when nothing is wrong."""

import math


def interval(trials: int, p: float, confidence: float) -> tuple[int, int]:
    """The smallest central interval [least, most] that a binomial count falls into with this probability or more."""
    tail = (1 - confidence) / 2
    least, most = 0, trials
    below = 0.0
    for count in range(trials + 1):
        mass = math.exp(math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
                        + count * math.log(p) + (trials - count) * math.log1p(-p))
        if below + mass > tail and below <= tail:
            least = count
        below += mass
        if below >= 1 - tail:
            most = count
            break
    return least, most
