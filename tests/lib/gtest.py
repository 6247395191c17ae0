"""What a GoogleTest binary's report and log say about its tests."""

import json
import re


def outcomes(report_path, log):
    """[(test name, status, detail)]; fewer than the binary has when it crashed."""
    if not report_path.exists():
        return []
    found = []
    for group in json.loads(report_path.read_text()).get("testsuites", []):
        for case in group["testsuite"]:
            name = f"{group['name']}.{case['name']}"
            if case.get("result") == "SKIPPED":
                found.append((name, "skipped", skip_reason(name, log)))
            elif case.get("failures"):
                found.append((name, "failed", " ".join(case["failures"][0]["failure"].split())[:300]))
            elif case.get("result") == "COMPLETED":
                found.append((name, "passed", ""))
    return found


def skip_reason(name, log):
    """GoogleTest 1.12 keeps the reason out of its report: it stands in the log, after a line 'FILE:LINE: Skipped'."""
    body = re.search(rf"\[ RUN      \] {re.escape(name)}\n(.*?)\[  SKIPPED \]", log, re.DOTALL)
    lines = [line for line in (body.group(1) if body else "").splitlines() if line and not line.endswith(": Skipped")]
    return " ".join(lines) or "no reason given"


def crashed_in(log):
    """The test that was running when the log ended."""
    started = re.findall(r"^\[ RUN      \] (\S+)", log, re.MULTILINE)
    return started[-1] if started else "start-up"
