"""The report's plots, each as a piece of SVG to be placed in a page."""

import io

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402  (the backend must be chosen first)

from testbed.report.aggregate import KINDS, Cell  # noqa: E402

# One colour per policy, the same on every plot; from the Okabe-Ito palette, which colour-blind readers can tell apart.
POLICY_COLOURS = {
    "lossless": "#999999",
    "gbn": "#d55e00",
    "uniform-fec": "#e69f00",
    "smart": "#56b4e9",
    "weft": "#009e73",
}
OTHER_COLOURS = ("#cc79a7", "#0072b2", "#f0e442", "#000000")
KIND_COLOURS = {"source": "#b8c4ce", "repair": "#009e73", "retransmit": "#d55e00", "control": "#0072b2"}

matplotlib.rcParams.update({
    "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "grid.color": "#e6e6e6", "axes.axisbelow": True,
    "svg.hashsalt": "weft",
})


def colour_of(policy: str, position: int) -> str:
    return POLICY_COLOURS.get(policy, OTHER_COLOURS[position % len(OTHER_COLOURS)])


def _svg(figure) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
    svg = text.getvalue()
    return svg[svg.index("<svg"):]


def slowdown_cdf(cell: Cell) -> str:
    """Share of messages whose slowdown over the lossless run is at most x; the tail is where policies differ."""
    figure, axes = pyplot.subplots(figsize=(6.2, 3.4))
    longest = 1.0
    for position, row in enumerate(cell.rows):
        samples = row.samples("slowdown")
        if not samples:
            continue
        longest = max(longest, samples[-1])
        shares = [(i + 1) / len(samples) for i in range(len(samples))]
        axes.step([samples[0], *samples], [0, *shares], where="post", label=row.policy,
                  color=colour_of(row.policy, position), linewidth=1.8)
    axes.set_xscale("log")
    spread = (1, 1.2, 1.5, 2, 3) if longest < 4 else (1, 2, 3, 5, 8, 12, 20, 40)
    ticks = [tick for tick in spread if tick <= longest * 1.1]
    axes.set_xticks(ticks, [f"{tick:g}x" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlim(0.9, max(1.25, longest * 1.08))
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("message completion time, relative to the same message without loss")
    axes.set_ylabel("share of messages")
    axes.legend(loc="lower right", frameon=False)
    return _svg(figure)


def wan_bytes(cell: Cell) -> str:
    """IP bytes that entered the WAN, by kind, relative to the source bytes."""
    figure, axes = pyplot.subplots(figsize=(6.2, 0.5 * len(cell.rows) + 1.1))
    for position, row in enumerate(reversed(cell.rows)):
        source = row.bytes_of("source") or 1
        left = 0.0
        for kind in KINDS:
            width = 100 * row.bytes_of(kind) / source
            axes.barh(position, width, left=left, color=KIND_COLOURS[kind], height=0.6,
                      label=kind if position == 0 else None)
            left += width
        axes.text(left + 0.8, position, f"{left:.1f} %", va="center", fontsize=9)
    axes.set_yticks(range(len(cell.rows)), [row.policy for row in reversed(cell.rows)])
    axes.set_xlabel("WAN bytes, percent of source bytes")
    axes.set_xlim(0, max(112.0, axes.get_xlim()[1] * 1.06))
    axes.grid(axis="y", visible=False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.28 if len(cell.rows) < 4 else 1.2), ncol=4, frameon=False)
    return _svg(figure)
