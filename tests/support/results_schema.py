"""What a results.json must look like (schema weft-results/1), as shapes a value is held against.

A shape is a type, a tuple of alternatives, a list with the shape of every element, or a dict of keys; a dict with the
one key `str` holds any names. Keys beyond those required are allowed: the schema may be extended.
"""

from typing import Any

NUMBER = (int, float)
NUMBER_OR_NULL = (int, float, type(None))
_FIGURES = {"mean": NUMBER_OR_NULL, "p50": NUMBER_OR_NULL, "p99": NUMBER_OR_NULL, "p999": NUMBER_OR_NULL}
_FCT = {**_FIGURES, "p95": NUMBER_OR_NULL}
_CLASS = {
    "messages": int, "bytes": int, "fct_ms": _FCT, "slowdown": _FIGURES, "lost_packets": int, "recovered_packets": int,
    "retransmitted_packets": int, "nack_retransmitted_packets": int, "filled_bytes": int, "declared_fill_bytes": int,
    "corrupt_bytes": int}
_RUN = {
    "policy": str, "seed": int,
    "params": {"workload": (str, type(None)), "pmtu": int, "window_bytes": int, "timeout_ms": NUMBER, "messages": int,
               "qps": int, "message_bytes": [int]},
    "wan": {"loss": (int, float, list), "burst": NUMBER, "rtt_ms": NUMBER, "rate_mbit": NUMBER,
            "realised": {"loss": NUMBER_OR_NULL, "burst": NUMBER_OR_NULL}, "tail_drops": int},
    "fct_ms": _FCT, "slowdown": _FIGURES, "classes": {str: _CLASS},
    "wan_bytes": {"source": int, "repair": int, "retransmit": int, "control": int},
    "recovery_ms": {"p50": NUMBER_OR_NULL, "p99": NUMBER_OR_NULL}, "timeouts": int, "qp_errors": int,
    "agent": {"a": dict, "b": dict}, "skipped": [str]}
DOCUMENT = {"schema": str, "git": str, "machine": str, "runs": [_RUN]}


def _faults(value: Any, shape: Any, place: str) -> list[str]:
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [f"{place} is no object"]
        if list(shape) == [str]:
            return [fault for key, item in value.items() for fault in _faults(item, shape[str], f"{place}.{key}")]
        missing = [f"{place}.{key} is missing" for key in shape if key not in value]
        return missing + [fault for key in shape if key in value
                          for fault in _faults(value[key], shape[key], f"{place}.{key}")]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{place} is no array"]
        return [fault for i, item in enumerate(value) for fault in _faults(item, shape[0], f"{place}[{i}]")]
    # A JSON true is a Python int.
    wrong = isinstance(value, bool) or not isinstance(value, shape)
    return [f"{place} is {type(value).__name__}"] if wrong else []


def faults(document: Any) -> list[str]:
    """What is wrong with it; empty when it is valid."""
    found = _faults(document, DOCUMENT, "results")
    if not found and document["schema"] != "weft-results/1":
        found.append(f"schema is {document['schema']}")
    return found
