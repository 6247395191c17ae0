"""The table a lab run prints: one line per policy and cell."""

from typing import Any

from testbed.report.aggregate import Row, cells

COLUMNS = ("policy", "FCT mean", "FCT p50", "FCT p99", "slowdown mean", "slowdown p99", "overhead", "resent", "timeouts",
           "waited", "filled", "corrupt")


def number(value: float | None, digits: int = 2, suffix: str = "") -> str:
    return "-" if value is None else f"{value:.{digits}f}{suffix}"


def share(part: float, whole: float) -> str:
    if not whole:
        return "-"
    percent = 100 * part / whole
    return "0" if not part else f"{percent:.0f} %" if percent >= 10 else f"{percent:.2g} %"


def cells_of(row: Row) -> list[str]:
    overhead = row.overhead()
    return [
        row.policy,
        number(row.median("fct_ms", "mean"), 0, " ms"),
        number(row.median("fct_ms", "p50"), 0, " ms"),
        number(row.median("fct_ms", "p99"), 0, " ms"),
        number(row.median("slowdown", "mean")),
        number(row.median("slowdown", "p99")),
        "-" if overhead is None else share(overhead, 1),
        share(row.bytes_of("retransmit"), row.bytes_of("source")),
        f"{sum(run.get('timeouts') or 0 for run in row.runs)}",
        share(*row.waited()),
        share(row.total("filled_bytes"), row.total("bytes")),
        f"{row.total('corrupt_bytes')}",
    ]


def render(results: dict[str, Any]) -> str:
    lines = []
    for cell in cells(results):
        body = [list(COLUMNS), *[cells_of(row) for row in cell.rows]]
        widths = [max(len(line[i]) for line in body) for i in range(len(COLUMNS))]
        lines.append(cell.title)
        for line in body:
            padded = [line[0].ljust(widths[0]), *[text.rjust(width) for text, width in zip(line[1:], widths[1:])]]
            lines.append("  " + "  ".join(padded).rstrip())
        lines.append("")
    return "\n".join(lines)
