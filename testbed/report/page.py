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
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(26rem, 1fr)); gap: 0 2rem; }
"""


def _table(header: list[str], body: list[list[str]], marked: str) -> str:
    """Rows with `marked` in one of the first two columns stand out."""

    def line(tag: str, texts: list[str]) -> str:
        return "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts)

    rows = "".join(
        f'<tr{" class=weft" if marked in texts[:2] else ""}>{line("td", texts)}</tr>' for texts in body)
    return f'<div class="scroll"><table><thead><tr>{line("th", header)}</tr></thead><tbody>{rows}</tbody></table></div>'


def _class_table(cell: Cell) -> str:
    """By class, so that the policies stand next to each other."""
    body = []
    for name in sorted({name for row in cell.rows for name in row.class_names()}):
        for row in cell.rows:
            size = row.class_total(name, "bytes")
            packets = size / row.params["pmtu"]
            lost = row.class_total(name, "lost_packets")
            recovered = row.class_total(name, "recovered_packets")
            body.append([
                name, row.policy, f"{row.class_total(name, 'messages')}",
                table.number(row.median("classes", name, "slowdown", "mean")),
                table.number(row.median("classes", name, "slowdown", "p99")),
                f"{lost}", f"{recovered}", table.share(max(0, lost - recovered), packets),
                table.share(row.class_total(name, "retransmitted_packets"), packets),
                table.share(row.class_total(name, "filled_bytes"), size),
                f"{row.class_total(name, 'corrupt_bytes')}",
            ])
    header = ["class", "policy", "messages", "slowdown mean", "slowdown p99", "lost packets", "recovered", "residual",
              "sent again", "filled", "corrupt bytes"]
    return _table(header, body, marked="weft")


def _of_seeds(seeds: list[int]) -> str:
    return f"Seed {seeds[0]}." if len(seeds) == 1 else f"Medians over the seeds {', '.join(map(str, seeds))}."


def _cell(cell: Cell) -> str:
    seeds = sorted({run["seed"] for row in cell.rows for run in row.runs})
    body = [table.cells_of(row) for row in cell.rows]
    return f"""
<h2>{html.escape(cell.title)}</h2>
{_table(list(table.COLUMNS), body, marked="weft")}
<p class="note">{_of_seeds(seeds)} FCT: completion time of a message. Slowdown: FCT over that of the same message in a
lossless run of the same seed; p99 needs 100 messages. Overhead: repair and control bytes over source bytes. Resent: bytes
the endpoints sent again over source bytes. Waited: share of the completion times lost to timeouts of the endpoints.</p>
<div class="plots"><div><h3>Completion time of messages</h3>
{plots.slowdown_cdf(cell)}</div>
<div><h3>Bytes on the WAN</h3>
{plots.wan_bytes(cell)}</div></div>
<h3>By traffic class</h3>
{_class_table(cell)}
<p class="note">Lost: first transmissions the WAN dropped. Recovered: packets rebuilt by FEC, those of retransmissions
among them. Residual: lost and not recovered, of all packets. Sent again: packets the endpoint sent again, of all packets.
Filled: zero bytes delivered and declared, of all bytes. Corrupt: bytes that are neither what was sent nor declared; must
be 0.</p>
"""


def render(results: dict[str, Any]) -> str:
    skipped = sorted({reason for run in results["runs"] for reason in run.get("skipped", [])})
    notes = "".join(f"<p class=note>Skipped: {html.escape(reason)}</p>" for reason in skipped)
    machine = html.escape(str(results.get("machine", "")))
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Weft: lab report</title><style>{STYLE}</style></head><body>
<h1>Weft: lab report</h1>
<p class="lede">RoCEv2 messages across an emulated lossy WAN: the same messages, endpoints and loss process under every policy.
Version {html.escape(str(results.get("git", "")))}; {machine}.</p>
{notes}{"".join(_cell(cell) for cell in cells(results))}
</body></html>
"""
