"""A lab as a person uses it: its commands run, and what they leave behind."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of the labs of a test's process, so that others are left alone.
NAME = f"t{os.getpid()}"
STATE = pathlib.Path("/run/weft-lab")


class LabCase(unittest.TestCase):
    """Tests of one lab's program; whatever they leave up is taken down."""

    program: pathlib.Path
    timeout_s = 120.0

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory(prefix="weft-lab-")
        self.addCleanup(scratch.cleanup)
        self.out = pathlib.Path(scratch.name, "out")
        self.addCleanup(self.lab, "down", "--name", NAME)

    @classmethod
    def lab(cls, *arguments: str, **options) -> subprocess.CompletedProcess:
        source = {} if "input" in options else {"stdin": subprocess.DEVNULL}
        return subprocess.run([str(cls.program), *arguments], capture_output=True, text=True, timeout=cls.timeout_s,
                              check=False, **source, **options)

    def succeed(self, *arguments: str, **options) -> str:
        done = self.lab(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    @staticmethod
    def left_behind() -> list[str]:
        """Namespaces, and files of a standing lab."""
        return [path.name for path in (*pathlib.Path("/run/netns").glob(f"weft-{NAME}-*"), *STATE.glob(NAME))]

    @staticmethod
    def pids() -> list[str]:
        """Of what runs in the lab."""
        return [pid for node in pathlib.Path("/run/netns").glob(f"weft-{NAME}-*") for pid in subprocess.run(
            ["ip", "netns", "pids", node.name], capture_output=True, text=True, check=True).stdout.split()]
