"""Quantities on command lines, spelled as everywhere in Weft (agent/base/units.h)."""

import re

from testbed.netns.errors import UsageError

_RATES = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_TIMES_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}
_BYTES = {"": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mib": 1 << 20, "g": 1 << 30, "gib": 1 << 30}


def _parse(text: str, units: dict[str, float], kind: str, example: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]*)", text)
    if not match or match[2] not in units:
        raise UsageError(f"'{text}' is not a {kind}", f"write it like {example}")
    return float(match[1]) * units[match[2]]


def rate_bits(text: str) -> float:
    return _parse(text, _RATES, "rate", "200mbit or 1gbit")


def milliseconds(text: str) -> float:
    return _parse(text, _TIMES_MS, "duration", "30ms or 1s")


def byte_count(text: str) -> int:
    return round(_parse(text, _BYTES, "byte count", "65536, 64k or 4mib"))
