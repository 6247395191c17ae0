"""Builds Weft and runs its test suites: the body of tests/run.

A suite is a list of cases, found by looking: GoogleTest binaries (build/<preset>/bin/tests/<suite>/NAME, every test in
them counted), executable scripts (tests/<suite>/NAME, one test each; exit 0 passes, 77 skips with the last line as the
reason) and, in the suite fuzz, libFuzzer binaries (build/fuzz/bin/tests/fuzz/NAME). Skips must be listed in
tests/skips.toml. The last line printed is "N passed, N failed, N skipped".
"""

import argparse
import concurrent.futures
import dataclasses
import fnmatch
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time
import tomllib

import gtest
import mutants
import processes

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIP_STATUS = 77
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CORES = os.cpu_count() or 2
LOG_TAIL_BYTES = 6000


@dataclasses.dataclass(frozen=True)
class Suite:
    name: str
    presets: tuple = ("release",)  # what must be built; GoogleTest binaries of each are run
    parallel: bool = False         # cases use neither the network nor the clock, and may run side by side


SUITES = (
    Suite("lint", parallel=True),
    Suite("unit", ("release", "asan"), parallel=True),
    Suite("property", ("release", "asan"), parallel=True),
    Suite("bpf"),
    Suite("integration"),
    Suite("fuzz", ("fuzz",), parallel=True),
    Suite("vm"),
)
# Left out by --quick.
SLOW_PRESETS = {"asan"}
SLOW_SUITES = {"vm"}
ASKED_SCRIPTS = {"lint/clang-tidy"}  # minutes on a new tree: run when its suite is asked for by name


@dataclasses.dataclass(frozen=True)
class Case:
    label: str
    command: tuple
    report: bool  # a GoogleTest binary, which reports test by test
    timeout_s: int = 1500


@dataclasses.dataclass(frozen=True)
class Outcome:
    name: str
    status: str  # passed, failed, skipped
    detail: str = ""


def executables(folder):
    return sorted(path for path in folder.glob("*") if path.is_file() and os.access(path, os.X_OK))


class Runner:
    def __init__(self, options):
        self.options = options
        self.outcomes = []
        self.seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
        self.allowed_skips = tomllib.loads((ROOT / "tests/skips.toml").read_text()).get("skip", [])
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="weft-tests-"))
        self.processes = processes.Processes(ROOT, dict(
            os.environ,
            WEFT_TEST_SEED=str(self.seed),
            WEFT_TEST_SCRATCH=str(self.scratch),
            WEFT_TEST_QUICK="1" if options.quick else "",
            WEFT_TEST_KEEP="1" if options.keep else "",
            PYTHONDONTWRITEBYTECODE="1",
        ))

    def presets(self, suite):
        return [preset for preset in suite.presets if not (self.options.quick and preset in SLOW_PRESETS)]

    def wanted(self, suite):
        if self.options.only is not None:
            return suite.name == self.options.only
        return not (self.options.quick and suite.name in SLOW_SUITES)

    def cases(self, suite):
        for preset in self.presets(suite):
            for binary in executables(ROOT / "build" / preset / "bin/tests" / suite.name):
                if preset == "fuzz":
                    yield Case(f"fuzz/{binary.name}", (ROOT / "tests/lib/fuzz", binary.name), report=False)
                else:
                    label = f"{suite.name}/{binary.name}" + ("" if preset == "release" else f"@{preset}")
                    yield Case(label, (binary,), report=True)
        for script in executables(ROOT / "tests" / suite.name):
            label = f"{suite.name}/{script.stem}"
            asked = self.options.only == suite.name and not self.options.quick
            if label not in ASKED_SCRIPTS or asked:
                yield Case(label, (script,), report=False)

    def log_path(self, label):
        return self.scratch / (label.replace("/", "-") + ".log")

    def build(self, preset):
        started = time.monotonic()
        log_path = self.log_path(f"build/{preset}")
        folder = ROOT / "build" / preset
        folder.mkdir(parents=True, exist_ok=True)
        targets = [f"suite-{suite.name}" for suite in SUITES if preset in suite.presets]
        chosen = ("--target", *targets) if preset in SLOW_PRESETS else ()
        for command in (("cmake", "--preset", preset), ("cmake", "--build", f"build/{preset}", "-j", CORES, *chosen)):
            # One build in a folder at a time, as in testbed/lab.
            status, _ = self.processes.run(("flock", "-o", folder, *command), log_path, timeout_s=3600)
            if status != 0:
                print(log_path.read_text(errors="replace")[-LOG_TAIL_BYTES:])
                self.record(Outcome(f"build/{preset}", "failed", f"{command[0]} exited with {status}"))
                return False
        print(f"built {preset}, {time.monotonic() - started:.0f} s", flush=True)
        return True

    def record(self, outcome):
        allowed = any(fnmatch.fnmatch(outcome.name, rule["test"]) for rule in self.allowed_skips)
        if outcome.status == "skipped" and not allowed:
            outcome = Outcome(outcome.name, "failed", f"skipped, not allowed by tests/skips.toml: {outcome.detail}")
        self.outcomes.append(outcome)
        if outcome.status != "passed":
            print(f"{outcome.status.upper()} {outcome.name}: {outcome.detail}", flush=True)

    def run_case(self, case):
        """Runs in a thread of its own; returns what to record and what to print."""
        started = time.monotonic()
        log_path = self.log_path(case.label)
        report_path = log_path.with_suffix(".json")
        command = case.command + ((f"--gtest_output=json:{report_path}",) if case.report else ())
        status, left_behind = self.processes.run(command, log_path, case.timeout_s)
        log = log_path.read_text(errors="replace")
        outcomes = self.judge_gtest(case, status, report_path, log) if case.report else self.judge(case, status, log)
        if left_behind:
            outcomes = [outcome for outcome in outcomes if outcome.name != case.label]
            outcomes.append(Outcome(case.label, "failed", f"left processes behind: {', '.join(left_behind)}"))
        what = f"{len(outcomes)} tests" if case.report else last_line(log)
        failed = any(outcome.status == "failed" for outcome in outcomes)
        text = f"{log[-LOG_TAIL_BYTES:]}\n" if failed else ""
        return outcomes, f"{text}{case.label}: {what}, {time.monotonic() - started:.1f} s"

    @staticmethod
    def judge_gtest(case, status, report_path, log):
        outcomes = [Outcome(f"{case.label}/{name}", result, detail)
                    for name, result, detail in gtest.outcomes(report_path, log)]
        explained = any(outcome.status == "failed" for outcome in outcomes)
        if not outcomes or (status != 0 and not explained):
            outcomes.append(Outcome(case.label, "failed", f"exited with {status} in {gtest.crashed_in(log)}"))
        return outcomes

    @staticmethod
    def judge(case, status, log):
        if status == 0:
            return [Outcome(case.label, "passed")]
        if status == SKIP_STATUS:
            return [Outcome(case.label, "skipped", last_line(log))]
        return [Outcome(case.label, "failed", f"exited with {status}: {last_line(log)}")]

    def run_suite(self, suite):
        cases = list(self.cases(suite))
        if not cases and self.options.only:
            self.record(Outcome(suite.name, "failed", "this suite has no tests"))
        with concurrent.futures.ThreadPoolExecutor(CORES if suite.parallel else 1) as pool:
            try:
                for done in concurrent.futures.as_completed([pool.submit(self.run_case, case) for case in cases]):
                    outcomes, text = done.result()
                    print(text, flush=True)
                    for outcome in outcomes:
                        self.record(outcome)
            except BaseException:
                ignore_signals()
                self.processes.stop()
                pool.shutdown(cancel_futures=True)
                raise

    def run(self):
        if self.options.mutants is not None:
            for verdict in mutants.run(ROOT, self.scratch, self.processes, self.options.mutants):
                status = "passed" if verdict.caught else "failed"
                self.record(Outcome(f"mutants/{verdict.name}", status, verdict.detail))
            return
        print(f"seed {self.seed}", flush=True)
        suites = [suite for suite in available_suites() if self.wanted(suite)]
        presets = dict.fromkeys(preset for suite in suites for preset in self.presets(suite))
        if all([self.build(preset) for preset in presets]):
            for suite in suites:
                self.run_suite(suite)

    def finish(self):
        """Ends what is running, if anything; prints the totals."""
        ignore_signals()
        self.processes.stop()
        for outcome in self.outcomes:
            if outcome.status != "passed":
                print(f"{outcome.status.upper()} {outcome.name}: {outcome.detail}")
        if self.options.keep:
            print(f"logs kept in {self.scratch}")
        else:
            shutil.rmtree(self.scratch, ignore_errors=True)
        count = {status: sum(o.status == status for o in self.outcomes) for status in ("passed", "failed", "skipped")}
        print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped", flush=True)
        return 1 if count["failed"] or not count["passed"] else 0


def last_line(log):
    return next((line for line in reversed(log.splitlines()) if line.strip()), "")


def ignore_signals():
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def available_suites():
    return [suite for suite in SUITES if (ROOT / "tests" / suite.name).is_dir()]


def parse_arguments():
    names = [suite.name for suite in available_suites()]
    parser = argparse.ArgumentParser(prog="tests/run", description="Builds Weft and runs its tests.")
    parser.add_argument("--quick", action="store_true", help="no sanitizer build, no guests, short runs: under 5 minutes")
    parser.add_argument("--only", choices=names, metavar="SUITE", help=f"one suite instead of all: {', '.join(names)}")
    parser.add_argument("--seed", type=int, help="the seed of every randomised test (default: random, printed)")
    parser.add_argument("--mutants", nargs="*", metavar="NAME",
                        help="instead of the suites: break the product in each place of tests/mutants.toml (or in the "
                             "named ones), in a copy of the tree, and show that a test catches it; takes minutes")
    parser.add_argument("--keep", action="store_true", help="keep logs, and namespaces of failed tests")
    return parser.parse_args()


def main():
    runner = Runner(parse_arguments())
    for number in STOP_SIGNALS:
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    stopped = None
    try:
        runner.run()
    except SystemExit as stop:
        stopped = stop.code
        print("interrupted", flush=True)
    status = runner.finish()
    return status if stopped is None else stopped


if __name__ == "__main__":
    sys.exit(main())
