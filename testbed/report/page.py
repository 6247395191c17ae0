"""A self-contained HTML page about a results.json: tables and plots, nothing fetched from anywhere."""

import html
from typing import Any

from testbed.report import plots, table
from testbed.report.aggregate import Cell, cells

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2933; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
.lede, .note { color: #52606d; } .note { font-size: .88rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .88rem; }
th, td { padding: .28rem .7rem; text-align: right; border-bottom: 1px solid #e4e7eb; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } thead th { color: #52606d; font-weight: 600; }
tr.weft td { font-weight: 600; background: #effaf5; } td.bad { color: #b42318; font-weight: 700; }
.scroll { overflow-x: auto; } svg { max-width: 100%; height: auto; }
"""


def _table(header: list[str], body: list[list[str]], marked: str = "") -> str:
    def line(tag: str, texts: list[str]) -> str:
        return "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts)

    rows = "".join(
        f'<tr{" class=weft" if texts[0] == marked else ""}>{line("td", texts)}</tr>' for texts in body)
    return f'<div class="scroll"><table><thead><tr>{line("th", header)}</tr></thead><tbody>{rows}</tbody></table></div>'


def _fraction(part: int, whole: int) -> str:
    if not whole:
        return "-"
    return "0" if not part else f"{part / whole:.1e}"


def _class_table(cell: Cell) -> str:
    body = []
    for row in cell.rows:
        for name in row.class_names():
            packets_lost = row.class_total(name, "lost_packets")
            recovered = row.class_total(name, "recovered_packets")
            size = row.class_total(name, "bytes")
            body.append([
                row.policy, name, f"{row.class_total(name, 'messages')}",
                table.number(row.median("classes", name, "slowdown", "mean")),
                table.number(row.median("classes", name, "slowdown", "p99")),
                f"{packets_lost}", f"{recovered}", f"{row.class_total(name, 'retransmitted_packets')}",
                _fraction(row.class_total(name, "filled_bytes"), size),
                f"{row.class_total(name, 'corrupt_bytes')}",
            ])
    header = ["policy", "class", "messages", "slowdown mean", "p99", "lost packets", "recovered", "sent again",
              "filled fraction", "corrupt bytes"]
    return _table(header, body, marked="weft")


def _cell(cell: Cell) -> str:
    seeds = sorted({run["seed"] for row in cell.rows for run in row.runs})
    body = [table.cells_of(row) for row in cell.rows]
    return f"""
<h2>{html.escape(cell.title)}</h2>
{_table(list(table.COLUMNS), body, marked="weft")}
<p class="note">Medians over seeds {html.escape(", ".join(map(str, seeds)))}. Slowdown: completion time over that of the
same message in a lossless run of the same seed. Overhead: repair and control bytes over source bytes.</p>
<h3>Completion time of messages</h3>
{plots.slowdown_cdf(cell)}
<h3>Bytes on the WAN</h3>
{plots.wan_bytes(cell)}
<h3>By traffic class</h3>
{_class_table(cell)}
<p class="note">Lost: packets the WAN dropped. Recovered: rebuilt by FEC. Sent again: by the endpoint. Filled: zero bytes
delivered and declared, of all bytes. Corrupt: bytes that are neither what was sent nor declared; must be 0.</p>
"""


def render(results: dict[str, Any]) -> str:
    skipped = sorted({reason for run in results["runs"] for reason in run.get("skipped", [])})
    notes = "".join(f"<p class=note>Skipped: {html.escape(reason)}</p>" for reason in skipped)
    machine = html.escape(str(results.get("machine", "")))
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Weft: lab report</title><style>{STYLE}</style></head><body>
<h1>Weft: lab report</h1>
<p class="lede">RoCEv2 messages across an emulated lossy WAN, the same endpoints and the same losses under every policy.
Version {html.escape(str(results.get("git", "")))}; {machine}.</p>
{notes}{"".join(_cell(cell) for cell in cells(results))}
</body></html>
"""
