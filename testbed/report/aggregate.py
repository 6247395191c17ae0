"""What a report shows, computed from the runs of a results.json.

Runs of one policy under the same WAN and parameters but other seeds belong together: one `Row`. Figures of a row are
medians over its seeds; sample lists are pooled.
"""

import dataclasses
import statistics
from typing import Any

KINDS = ("source", "repair", "retransmit", "control")


@dataclasses.dataclass
class Row:
    policy: str
    wan: dict[str, Any]
    params: dict[str, Any]
    runs: list[dict[str, Any]]

    def median(self, *path: str) -> float | None:
        """The median over seeds of a figure at a path such as ("slowdown", "p99"); None when no run has it."""
        values = []
        for run in self.runs:
            value: Any = run
            for key in path:
                value = value.get(key) if isinstance(value, dict) else None
            if value is not None:
                values.append(value)
        return statistics.median(values) if values else None

    def bytes_of(self, kind: str) -> float:
        return self.median("wan_bytes", kind) or 0

    def overhead(self) -> float | None:
        """Repair and control bytes over source bytes: what the agents add to the WAN."""
        source = self.bytes_of("source")
        return (self.bytes_of("repair") + self.bytes_of("control")) / source if source else None

    def waited(self) -> tuple[float, float]:
        """Milliseconds that messages stood still until a timer of their endpoint ran out, of all their milliseconds."""
        return sum(run.get("timeout_wait_ms") or 0 for run in self.runs), sum(self.samples("fct_ms"))

    def samples(self, figure: str) -> list[float]:
        return sorted(s[figure] for run in self.runs for s in run.get("samples", []) if s.get(figure) is not None)

    def class_total(self, class_name: str, figure: str) -> int:
        return sum(run["classes"].get(class_name, {}).get(figure) or 0 for run in self.runs)

    def total(self, figure: str) -> int:
        return sum(self.class_total(name, figure) for name in self.class_names())

    def class_names(self) -> list[str]:
        return sorted({name for run in self.runs for name in run["classes"]})


@dataclasses.dataclass
class Cell:
    """All policies under one WAN and one set of parameters."""

    title: str
    rows: list[Row]


def _wan_key(run: dict[str, Any]) -> tuple:
    wan, params = run["wan"], run["params"]
    return (wan["loss"], wan["burst"], wan["rtt_ms"], wan["rate_mbit"], params.get("qps"), params.get("pmtu"),
            str(params.get("workload")))


def _title(run: dict[str, Any]) -> str:
    wan, params = run["wan"], run["params"]
    directions = wan["loss"] if isinstance(wan["loss"], list) else [wan["loss"]]
    loss = " and back ".join(f"{100 * share:g} %" for share in directions)
    burst = "" if not any(directions) else " singly" if wan["burst"] == 1 else f" in bursts of {wan['burst']:g}"
    traffic = f"{params['messages']} messages" if "messages" in params else "messages"
    workload = f" of workload '{params['workload']}'" if params.get("workload") else ""
    return (f"{loss} of packets lost{burst}, {wan['rtt_ms']:g} ms RTT, {wan['rate_mbit']:g} Mbit/s; "
            f"{traffic}{workload}, {params.get('qps')} in flight")


def cells(results: dict[str, Any]) -> list[Cell]:
    """Groups runs into cells and rows, both in the order in which they were run."""
    grouped: dict[tuple, dict[str, Row]] = {}
    titles: dict[tuple, str] = {}
    for run in results["runs"]:
        key = _wan_key(run)
        titles.setdefault(key, _title(run))
        rows = grouped.setdefault(key, {})
        row = rows.setdefault(run["policy"], Row(run["policy"], run["wan"], run["params"], []))
        row.runs.append(run)
    return [Cell(titles[key], list(rows.values())) for key, rows in grouped.items()]
