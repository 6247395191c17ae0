#!/usr/bin/env -S /usr/bin/python3 -B
"""What tests/run --mutants promises: a list that cannot rot, survivors that are failures, a tree that stays as it was."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

import mutants  # noqa: E402
import processes  # noqa: E402
import runner  # noqa: E402

SOURCE = "agent/budget.cpp"
CODE = "if (filled > budget) refuse();\nif (late) release();\n"


def entry(**changes):
    mutant = {"name": "budget", "promise": "P4", "file": SOURCE, "text": "filled > budget", "replacement": "false",
              "tests": ["unit/budget"]} | changes
    return "[[mutant]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in mutant.items())


class Tree(unittest.TestCase):
    """A source tree with one file and two tests; `breaks` says how each of them ends on a given code and seed."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.root = pathlib.Path(self.folder, "tree")
        for path, text in ((SOURCE, CODE), ("build/left", ""),
                           ("tests/unit/CMakeLists.txt", "weft_test(unit budget SOURCES a)\nweft_test(unit other B)\n")):
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        self.commands = []
        self.breaks = lambda code, test, seed: None if code == CODE else "Budget.Holds"

    def run_command(self, command, log_path, timeout_s, folder=None, environment=None):
        """Stands in for processes.Processes.run(): a compiler that knows one error, and tests that read the code."""
        del timeout_s, environment
        words = [str(word) for word in command]
        self.commands.append(words)
        log_path.write_text("")
        self.assertEqual((self.root / SOURCE).read_text(), CODE, "the user's tree is never touched")
        self.assertFalse((folder / "build/left").exists())
        code = (folder / SOURCE).read_text()
        if words[0] == "cmake":
            return (1 if "syntax error" in code else 0), []
        test = "/".join(words[0].split("/")[-2:])
        seed = int(next(word for word in words if word.startswith("--seed=")).removeprefix("--seed="))
        ending = self.breaks(code, test, seed)
        if isinstance(ending, int):
            log_path.write_text("[ RUN      ] Budget.Crashes\n")
            return ending, []
        report = next(word for word in words if word.startswith("--gtest_output=")).split(":", 1)[1]
        case = {"name": (ending or "Budget.Holds").split(".")[1], "result": "COMPLETED"}
        if ending:
            case["failures"] = [{"failure": "expected"}]
        pathlib.Path(report).write_text(json.dumps({"testsuites": [{"name": "Budget", "testsuite": [case]}]}))
        return (1 if ending else 0), []

    def run_list(self, *entries, names=()):
        (self.root / mutants.LIST).write_text("\n".join(entries))
        self.scratch = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        commands = types.SimpleNamespace(run=self.run_command)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            verdicts = list(mutants.run(self.root, self.scratch, commands, names))
        self.printed = printed.getvalue()
        return {verdict.name: verdict for verdict in verdicts}


class List(Tree):
    def assert_refused(self, what, *entries, names=()):
        verdicts = self.run_list(*entries, names=names)
        self.assertEqual(list(verdicts), ["list"])
        self.assertFalse(verdicts["list"].caught)
        self.assertIn(what, verdicts["list"].detail)
        self.assertEqual(self.commands, [], "nothing is built for a list that is wrong")

    def test_text_that_is_gone(self):
        self.assert_refused("its text stands 0 times in agent/budget.cpp", entry(text="filled >= budget"))

    def test_text_that_is_there_twice(self):
        self.assert_refused("its text stands 2 times in agent/budget.cpp", entry(text="if ("))

    def test_what_else_cannot_be_tried(self):
        self.assert_refused("there is no file agent/gone.cpp", entry(file="agent/gone.cpp"))
        self.assert_refused("there is no test unit/gone", entry(tests=["unit/budget", "unit/gone"]))
        self.assert_refused("names no test", entry(tests=[]))
        self.assert_refused("the replacement is the text itself", entry(replacement="filled > budget"))
        self.assert_refused("this name is taken", entry(), entry())
        self.assert_refused("should have", entry(file_name="x"))
        self.assert_refused("no mutant is called gone", entry(), names=["gone"])


class Trial(Tree):
    def test_a_break_a_test_notices_is_caught(self):
        verdicts = self.run_list(entry(), entry(name="release", text="release()", replacement="drop()"))
        self.assertEqual([(name, verdict.caught) for name, verdict in verdicts.items()],
                         [("control", True), ("budget", True), ("release", True)])
        self.assertEqual(verdicts["budget"].detail, "unit/budget Budget.Holds")
        self.assertRegex(self.printed, r"budget +P4 +\d+ +unit/budget Budget.Holds")

    def test_one_place_is_broken_at_a_time(self):
        broken = []
        self.breaks = lambda code, test, seed: broken.append(code)
        self.run_list(entry(), entry(name="release", text="release()", replacement="drop()"))
        self.assertEqual(sorted(set(broken)), sorted({CODE, CODE.replace("filled > budget", "false"),
                                                      CODE.replace("release()", "drop()")}))
        self.assertEqual((self.scratch / "mutants" / SOURCE).read_text(), CODE)

    def test_a_survivor_is_a_failure(self):
        self.breaks = lambda code, test, seed: None
        verdict = self.run_list(entry())["budget"]
        self.assertFalse(verdict.caught)
        self.assertIn("SURVIVED unit/budget", verdict.detail)

    def test_a_survivor_fails_the_run(self):
        options = types.SimpleNamespace(mutants=[], seed=None, quick=False, keep=False, only=None)
        for caught, status in ((True, 0), (False, 1)):
            with mock.patch.object(mutants, "run", return_value=[mutants.Verdict("budget", caught, "")]), \
                    mock.patch.object(runner, "ignore_signals"), contextlib.redirect_stdout(io.StringIO()) as printed:
                trial = runner.Runner(options)
                trial.run()
                self.assertEqual(trial.finish(), status)
            self.assertEqual(printed.getvalue().splitlines()[-1], f"{1 - status} passed, {status} failed, 0 skipped")

    def test_every_test_and_seed_gets_its_chance(self):
        def unlucky(code, test, seed):
            return "Budget.Luck" if code != CODE and (test, seed) == ("unit/other", 3) else None

        self.breaks = unlucky
        verdict = self.run_list(entry(tests=["unit/budget", "unit/other"]))["budget"]
        self.assertEqual((verdict.caught, verdict.detail), (True, "unit/other Budget.Luck"))

    def test_a_crash_and_a_hang_are_caught(self):
        for status, how in ((-11, "ended with -11"), (processes.TIMED_OUT, "timed out")):
            self.breaks = lambda code, test, seed, status=status: None if code == CODE else status
            verdict = self.run_list(entry())["budget"]
            self.assertEqual((verdict.caught, verdict.detail), (True, f"unit/budget Budget.Crashes ({how})"))

    def test_what_does_not_build_shows_nothing(self):
        verdicts = self.run_list(entry(replacement="syntax error"),
                                 entry(name="release", text="release()", replacement="x"))
        self.assertFalse(verdicts["budget"].caught)
        self.assertIn("does not build", verdicts["budget"].detail)
        self.assertTrue(verdicts["release"].caught, "mended before the next")

    def test_without_a_passing_control_nothing_is_tried(self):
        self.breaks = lambda code, test, seed: "Budget.Holds"
        verdicts = self.run_list(entry())
        self.assertEqual(list(verdicts), ["control"])
        self.assertFalse(verdicts["control"].caught)

    def test_only_the_named_ones(self):
        verdicts = self.run_list(entry(), entry(name="release", text="release()", replacement="x"), names=["release"])
        self.assertEqual(list(verdicts), ["control", "release"])


if __name__ == "__main__":
    unittest.main()
