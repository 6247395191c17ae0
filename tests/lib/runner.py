"""Builds Weft and runs its test suites: the body of tests/run.

A suite is a list of cases. A case is a GoogleTest binary (build/<preset>/bin/tests/<suite>/NAME, every test in it
counted), or an executable script (tests/<suite>/NAME, one test; exit 0 passes, 77 skips with its last line as the
reason). Skips must be listed in tests/skips.toml. The last line printed is "N passed, N failed, N skipped".
"""

import argparse
import dataclasses
import fnmatch
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIP_STATUS = 77
SUITES = ["lint", "unit", "property", "bpf", "integration", "fuzz"]
# Built with sanitizers too; the others measure time or need the kernel more than the sanitizers.
SANITIZED_SUITES = {"unit", "property"}
# Left out by --quick.
SLOW_SCRIPTS = {"clang-tidy"}


@dataclasses.dataclass
class Outcome:
    name: str
    status: str  # passed, failed, skipped
    detail: str = ""


class Runner:
    def __init__(self, options):
        self.options = options
        self.outcomes = []
        self.seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
        self.allowed_skips = tomllib.loads((ROOT / "tests/skips.toml").read_text()).get("skip", [])
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="weft-tests-"))
        self.environment = dict(
            os.environ,
            WEFT_TEST_SEED=str(self.seed),
            WEFT_TEST_SCRATCH=str(self.scratch),
            WEFT_TEST_QUICK="1" if options.quick else "",
            WEFT_TEST_KEEP="1" if options.keep else "",
            PYTHONDONTWRITEBYTECODE="1",
        )

    # Runs a command in the repository's root in a process group of its own, which is gone when this returns.
    def execute(self, command, timeout_s, log_path, **extra_environment):
        with open(log_path, "wb") as log:
            process = subprocess.Popen(
                [str(word) for word in command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, env={**self.environment, **extra_environment}, start_new_session=True)
            try:
                return process.wait(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                log.write(f"\ntimed out after {timeout_s} s\n".encode())
                return 124
            finally:
                self.end_group(process)

    @staticmethod
    def end_group(process):
        for number, patience_s in ((signal.SIGTERM, 20), (signal.SIGKILL, 5)):
            if process.poll() is not None:
                break
            try:
                os.killpg(process.pid, number)
                process.wait(timeout=patience_s)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue

    def record(self, name, status, detail=""):
        if status == "skipped" and not any(fnmatch.fnmatch(name, rule["test"]) for rule in self.allowed_skips):
            status, detail = "failed", f"skipped, which tests/skips.toml does not allow: {detail}"
        self.outcomes.append(Outcome(name, status, detail))
        if status != "passed":
            print(f"{status.upper()} {name}: {detail}", flush=True)

    def build(self, preset):
        started = time.monotonic()
        log_path = self.scratch / f"build-{preset}.log"
        jobs = str(os.cpu_count() or 2)
        status = self.execute(["cmake", "--preset", preset], 600, log_path)
        if status == 0:
            status = self.execute(["cmake", "--build", f"build/{preset}", "-j", jobs], 3600, log_path)
        if status != 0:
            print(log_path.read_text(errors="replace")[-8000:])
            self.record(f"build/{preset}", "failed", f"cmake exited with {status}")
            return False
        print(f"built {preset} in {time.monotonic() - started:.0f} s", flush=True)
        return True

    def run_gtest(self, suite, binary, label):
        report = self.scratch / f"{label.replace('/', '-')}.json"
        log_path = report.with_suffix(".log")
        started = time.monotonic()
        status = self.execute([binary, f"--gtest_output=json:{report}"], 1200, log_path)
        elapsed = time.monotonic() - started
        text = log_path.read_text(errors="replace")
        if status != 0:
            print(text[-6000:])
        cases = 0
        if report.exists():
            for group in json.loads(report.read_text()).get("testsuites", []):
                for case in group["testsuite"]:
                    cases += 1
                    name = f"{label}/{group['name']}.{case['name']}"
                    if case.get("result") == "SKIPPED":
                        reason = " ".join(line.strip() for line in text.splitlines() if "SKIP" in line)[-300:]
                        self.record(name, "skipped", reason or "no reason given")
                    elif case.get("failures"):
                        self.record(name, "failed", case["failures"][0]["failure"].splitlines()[0])
                    else:
                        self.record(name, "passed")
        if cases == 0 or (status != 0 and not any(o.status == "failed" and o.name.startswith(label) for o in self.outcomes)):
            self.record(label, "failed", f"exited with {status} after {cases} tests")
        print(f"{label}: {cases} tests, {elapsed:.1f} s", flush=True)

    def run_script(self, suite, script):
        name = f"{suite}/{script.stem}"
        log_path = self.scratch / f"{suite}-{script.stem}.log"
        started = time.monotonic()
        status = self.execute([script], 1500, log_path)
        elapsed = time.monotonic() - started
        text = log_path.read_text(errors="replace")
        last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
        if status == 0:
            self.record(name, "passed")
        elif status == SKIP_STATUS:
            self.record(name, "skipped", last)
        else:
            print(text[-6000:])
            self.record(name, "failed", f"exited with {status}: {last}")
        print(f"{name}: {elapsed:.1f} s: {last}", flush=True)

    def run_suite(self, suite):
        presets = ["release"] + (["asan"] if suite in SANITIZED_SUITES and not self.options.quick else [])
        found = False
        for preset in presets:
            folder = ROOT / "build" / preset / "bin/tests" / suite
            for binary in sorted(folder.glob("*")) if folder.is_dir() else []:
                if binary.is_file() and os.access(binary, os.X_OK):
                    found = True
                    label = f"{suite}/{binary.name}" + ("" if preset == "release" else f"@{preset}")
                    self.run_gtest(suite, binary, label)
        for script in sorted((ROOT / "tests" / suite).glob("*")):
            if self.options.quick and script.name in SLOW_SCRIPTS:
                continue
            if script.is_file() and os.access(script, os.X_OK):
                found = True
                self.run_script(suite, script)
        return found

    def main(self):
        suites = [self.options.only] if self.options.only else available_suites()
        print(f"seed {self.seed}", flush=True)
        presets = ["release"]
        if not self.options.quick and SANITIZED_SUITES & set(suites):
            presets.append("asan")
        if "fuzz" in suites:
            presets.append("fuzz")
        if all([self.build(preset) for preset in presets]):
            for suite in suites:
                if not self.run_suite(suite) and self.options.only:
                    self.record(suite, "failed", "this suite has no tests")
        count = {status: sum(o.status == status for o in self.outcomes) for status in ("passed", "failed", "skipped")}
        print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
        return 1 if count["failed"] or not count["passed"] else 0


def available_suites():
    return [suite for suite in SUITES if (ROOT / "tests" / suite).is_dir()]


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tests/run", description="Builds Weft and runs its tests.")
    parser.add_argument("--quick", action="store_true", help="release build only, short runs: under 5 minutes")
    parser.add_argument("--only", choices=available_suites(), help="one suite instead of all")
    parser.add_argument("--seed", type=int, help="the seed of every randomised test (default: random, printed)")
    parser.add_argument("--keep", action="store_true", help="keep logs, and namespaces of failed tests")
    return parser.parse_args()


def main():
    # Ctrl-C and a polite kill unwind like any exit, so that `finally` ends what is running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(129))
    runner = Runner(parse_arguments())
    try:
        return runner.main()
    except KeyboardInterrupt:
        return 130
    finally:
        if runner.options.keep:
            print(f"logs kept in {runner.scratch}", file=sys.stderr)
        else:
            shutil.rmtree(runner.scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
