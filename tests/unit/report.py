#!/usr/bin/env -S /usr/bin/python3
"""The report's figures against ones worked out by hand, and its page: complete and self-contained."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from testbed.report import aggregate, page, table  # noqa: E402


def run(policy, seed, p99, repair=0, filled=0, corrupt=0, loss=1e-3):
    figures = {"mean": 1.1, "p50": 1.0, "p99": p99, "p999": None}
    counts = {"messages": 2, "bytes": 1000, "slowdown": figures, "lost_packets": 4, "recovered_packets": 3,
              "retransmitted_packets": 1, "filled_bytes": filled, "corrupt_bytes": corrupt}
    return {
        "policy": policy, "seed": seed, "params": {"workload": "plain", "pmtu": 1024, "qps": 1},
        "wan": {"loss": loss, "burst": 1, "rtt_ms": 30, "rate_mbit": 200},
        "fct_ms": {"mean": 50, "p50": 40, "p99": 90}, "slowdown": figures, "classes": {"a<b": counts},
        "wan_bytes": {"source": 1000, "repair": repair, "retransmit": 10, "control": 20}, "timeouts": 1,
        "timeout_wait_ms": 4,
        "samples": [{"class": "a<b", "fct_ms": 40, "slowdown": 1.0}, {"class": "a<b", "fct_ms": 60, "slowdown": 1.2}],
        "skipped": ["no tcpdump"],
    }


RESULTS = {"git": "abc", "machine": "m", "runs": [
    run("gbn", 1, 3.0), run("weft", 1, 1.1, repair=80), run("gbn", 2, 5.0), run("weft", 2, 1.3, repair=100, filled=10),
    run("gbn", 3, None), run("weft", 1, 1.4, loss=1e-2, corrupt=7)]}


class Report(unittest.TestCase):
    def test_runs_fall_into_cells_and_rows(self):
        cells = aggregate.cells(RESULTS)
        self.assertEqual([[row.policy for row in cell.rows] for cell in cells], [["gbn", "weft"], ["weft"]])
        gbn, weft = cells[0].rows
        self.assertEqual(gbn.median("slowdown", "p99"), 4.0)  # of 3 and 5; the run without a p99 does not count
        self.assertIsNone(gbn.median("slowdown", "p999"))
        self.assertAlmostEqual(weft.overhead(), (90 + 20) / 1000)
        self.assertEqual(weft.samples("slowdown"), [1.0, 1.0, 1.2, 1.2])
        self.assertEqual(weft.total("filled_bytes"), 10)

    def test_table_says_what_is_missing_and_what_is_wrong(self):
        text = table.render(RESULTS)
        rows = [line.split() for line in text.splitlines() if line.strip().startswith(("gbn", "weft"))]
        self.assertEqual([row[0] for row in rows], ["gbn", "weft", "weft"])
        self.assertEqual([row[-1] for row in rows], ["0", "0", "7"])
        self.assertIn("4.00", text)
        self.assertIn("4 %", text)  # waited: 4 ms of 100 ms

    def test_page_is_self_contained(self):
        text = page.render(RESULTS)
        self.assertEqual(text.count("<svg"), 4)
        self.assertEqual(text.count("<svg"), text.count("</svg>"))
        self.assertIn("a&lt;b", text)
        self.assertIn("no tcpdump", text)
        fetched = re.findall(r'(?:src|href)="(?!#)([^"]*)"', text)
        self.assertEqual([url for url in fetched if not url.startswith("data:")], [])


if __name__ == "__main__":
    unittest.main()
