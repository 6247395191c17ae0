"""Breaks the product in named places, one at a time, and shows that a test catches each: tests/run --mutants.

tests/mutants.toml lists the places. Each must stand in its file exactly once, so that the list cannot rot. Nothing in the
user's tree changes: a copy of it is built, broken, tested, mended, and broken in the next place; builds are incremental.
First the unbroken copy must pass every test the list names, with every seed.
"""

import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import time
import tomllib

import gtest
import processes

LIST = "tests/mutants.toml"
SEEDS = (1, 2, 3)      # a break that needs luck to show gets some
TEST_TIMEOUT_S = 600   # a break that hangs a test is caught as well
BUILD_TIMEOUT_S = 3600
NOT_COPIED = ("build", ".git", ".cache", "__pycache__")


class ListError(Exception):
    """The list of mutants cannot be used; the message says which entry and why."""


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    promise: str      # what the break would break
    file: str         # from the repository's root
    text: str         # stands there exactly once
    replacement: str
    tests: tuple      # SUITE/NAME as in weft_test(); those expected to catch it, the quickest first


@dataclasses.dataclass(frozen=True)
class Verdict:
    name: str
    caught: bool
    detail: str


def load(root):
    fields = {field.name for field in dataclasses.fields(Mutant)}
    found = []
    for entry in tomllib.loads((root / LIST).read_text())["mutant"]:
        name = entry.get("name", "without a name")
        if entry.keys() != fields:
            raise ListError(f"{LIST}: mutant {name}: has {sorted(entry)}, should have {sorted(fields)}")
        found.append(Mutant(**{**entry, "tests": tuple(entry["tests"])}))
    return found


def known_tests(root):
    """Every GoogleTest binary, as SUITE/NAME."""
    rules = "".join(path.read_text() for path in sorted((root / "tests").glob("*/CMakeLists.txt")))
    return {"/".join(names) for names in re.findall(r"weft_test\((\w+) (\w+)", rules)}


def faults(mutants, root):
    """What is wrong with the list: one line for each mutant that cannot be made or tried."""
    tests = known_tests(root)
    found = []
    for number, mutant in enumerate(mutants):
        def fault(what, name=mutant.name):
            found.append(f"{LIST}: mutant {name}: {what}")

        if mutant.name in (other.name for other in mutants[:number]):
            fault("this name is taken")
        if mutant.text == mutant.replacement:
            fault("the replacement is the text itself")
        if not mutant.tests:
            fault("names no test")
        for test in mutant.tests:
            if test not in tests:
                fault(f"there is no test {test}")
        path = root / mutant.file
        times = path.read_text().count(mutant.text) if path.is_file() else None
        if times is None:
            fault(f"there is no file {mutant.file}")
        elif times != 1:
            fault(f"its text stands {times} times in {mutant.file}, not once: {mutant.text!r}")
    return found


def chosen(mutants, names):
    """Those with these names, all without names."""
    unknown = set(names) - {mutant.name for mutant in mutants}
    if unknown:
        raise ListError(f"{LIST}: no mutant is called {', '.join(sorted(unknown))}")
    return [mutant for mutant in mutants if not names or mutant.name in names]


class Bench:
    """The scratch copy of the tree at `root`, in `scratch`, which its owner removes."""

    def __init__(self, root, scratch, runner):
        self.root = root
        self.tree = scratch / "mutants"
        self.scratch = scratch
        self.runner = runner  # a processes.Processes

    def prepare(self):
        shutil.copytree(self.root, self.tree, ignore=shutil.ignore_patterns(*NOT_COPIED), symlinks=True)
        return self.command(("cmake", "--preset", "release"), "configure")

    @contextlib.contextmanager
    def broken(self, mutant):
        path = self.tree / mutant.file
        whole = path.read_text()
        path.write_text(whole.replace(mutant.text, mutant.replacement))
        try:
            yield
        finally:
            # Written anew rather than given its old time back: what was built from the break must be built again.
            path.write_text(whole)

    def build(self, tests, label):
        targets = [test.replace("/", "_") for test in tests]
        jobs = os.cpu_count() or 2
        return self.command(("cmake", "--build", "build/release", "-j", jobs, "--target", *targets), label)

    def test(self, test, seed, label):
        """What failed; empty when nothing did."""
        log_path = self.scratch / f"{label}-{test.replace('/', '-')}-{seed}.log"
        report_path = log_path.with_suffix(".json")
        command = (self.tree / "build/release/bin/tests" / test, f"--seed={seed}", "--gtest_fail_fast",
                   f"--gtest_output=json:{report_path}")
        status, _ = self.runner.run(command, log_path, TEST_TIMEOUT_S, folder=self.tree)
        log = log_path.read_text(errors="replace")
        failed = [name for name, result, _ in gtest.outcomes(report_path, log) if result == "failed"]
        if status == 0:
            return ""
        if failed:
            return f"{test} {failed[0]}"
        ended = "timed out" if status == processes.TIMED_OUT else f"ended with {status}"
        return f"{test} {gtest.crashed_in(log)} ({ended})"

    def command(self, command, label):
        log_path = self.scratch / f"{label}.log"
        # The copy lies elsewhere each time; ccache is to know its files all the same.
        ccache = {"CCACHE_BASEDIR": str(self.tree), "CCACHE_NOHASHDIR": "1"}
        status, _ = self.runner.run(command, log_path, BUILD_TIMEOUT_S, folder=self.tree, environment=ccache)
        if status != 0:
            print(log_path.read_text(errors="replace")[-3000:], flush=True)
        return status == 0


def caught_by(bench, tests, label):
    """The first failure over seeds and tests; empty when all pass."""
    return next((failure for seed in SEEDS for test in tests if (failure := bench.test(test, seed, label))), "")


def control(bench, mutants):
    """The unbroken copy builds and passes; otherwise no later failure would mean anything."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    if not bench.prepare() or not bench.build(tests, "control"):
        return Verdict("control", False, "the unbroken tree does not build")
    failure = caught_by(bench, tests, "control")
    return Verdict("control", not failure, f"the unbroken tree fails: {failure}" if failure else "")


def try_one(bench, mutant):
    with bench.broken(mutant):
        if not bench.build(mutant.tests, mutant.name):
            return Verdict(mutant.name, False, "does not build: a compiler caught it, no test was tried")
        failure = caught_by(bench, mutant.tests, mutant.name)
    if failure:
        return Verdict(mutant.name, True, failure)
    return Verdict(mutant.name, False, f"SURVIVED {', '.join(mutant.tests)} with seeds {SEEDS}: {mutant.promise}")


def trial(bench, mutants):
    """Yields a verdict for the control and for each mutant, and prints the table."""
    widths = [max(len(getattr(mutant, column)) for mutant in mutants) for column in ("name", "promise")]

    def row(name, promise, verdict, seconds):
        print(f"{name:{widths[0]}}  {promise:{widths[1]}}  {seconds:>7}  {verdict}", flush=True)

    started = time.monotonic()
    verdict = control(bench, mutants)
    print(f"control: {verdict.detail or 'all tests named pass'}, {time.monotonic() - started:.0f} s", flush=True)
    yield verdict
    if not verdict.caught:
        return
    row("mutant", "promise", "caught by", "seconds")
    for mutant in mutants:
        started = time.monotonic()
        verdict = try_one(bench, mutant)
        row(mutant.name, mutant.promise, verdict.detail, f"{time.monotonic() - started:.0f}")
        yield verdict


def run(root, scratch, runner, names):
    """The verdicts of a whole run."""
    try:
        mutants = chosen(load(root), names)
        wrong = faults(mutants, root)
    except ListError as error:
        wrong = [str(error)]
    if wrong:
        yield from (Verdict("list", False, what) for what in wrong)
        return
    yield from trial(Bench(root, scratch, runner), mutants)
