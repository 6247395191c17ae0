"""Programs running in the nodes of a lab, and their certain end.

Every process is told to die with this one (setpriv --pdeathsig), so a lab that is killed outright leaves namespaces but
no processes behind.
"""

import json
import os
import pathlib
import select
import signal
import subprocess
import time
from collections.abc import Sequence

from testbed.netns.errors import LabError
from testbed.netns.namespace import Namespace

# On a machine that is busy with other things, too.
START_PATIENCE_S = 60.0
TERM_PATIENCE_S = 10.0
KILL_PATIENCE_S = 5.0


def _run_in_time() -> None:
    """The lowest real-time priority, where the machine grants it: enough to be woken in time on a busy machine."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_min(os.SCHED_FIFO)))
    except PermissionError:
        pass


class Process:
    """One program in a namespace; its standard error goes to a log file, its standard output to a pipe or that file.

    `in_time`: it stands for a machine of its own, and the others on this one should not make it late.
    """

    def __init__(self, namespace: Namespace, command: Sequence[str], log: pathlib.Path, piped: bool = False,
                 in_time: bool = False):
        self.name = pathlib.Path(command[0]).name
        self.log = log
        with open(log, "ab") as log_file:
            self._popen = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", "--", *namespace.command(command)], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if piped else log_file, stderr=log_file,
                preexec_fn=_run_in_time if in_time else None)

    @property
    def pid(self) -> int:
        return self._popen.pid

    def wait_line(self, timeout_s: float) -> str:
        """The first line on standard output (only when piped)."""
        assert self._popen.stdout is not None
        readable, _, _ = select.select([self._popen.stdout], [], [], timeout_s)
        line = self._popen.stdout.readline().decode(errors="replace").strip() if readable else ""
        if not line:
            raise LabError(f"{self.name} did not start: {self.complaint()}")
        return line

    def wait_ready(self, timeout_s: float = START_PATIENCE_S) -> None:
        """Until the program has printed {"ready":true} (only when piped)."""
        line = self.wait_line(timeout_s)
        if json.loads(line) != {"ready": True}:
            raise LabError(f"{self.name} said '{line}' instead of being ready")

    def wait_log(self, text: str, timeout_s: float = START_PATIENCE_S) -> None:
        """Until a text stands in the log."""
        end = time.monotonic() + timeout_s
        while text not in self.log.read_text(errors="replace"):
            if self._popen.poll() is not None or time.monotonic() > end:
                raise LabError(f"{self.name} did not start: {self.complaint()}")
            time.sleep(0.02)

    def poll(self) -> int | None:
        return self._popen.poll()

    def wait(self, timeout_s: float) -> int:
        try:
            return self._popen.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise LabError(f"{self.name} did not end within {timeout_s:.0f} s: {self.complaint()}") from None

    def stop(self, signal_number: int = signal.SIGTERM) -> int:
        """Asks it to end, kills it if it does not, and returns its exit status."""
        for number, patience_s in ((signal_number, TERM_PATIENCE_S), (signal.SIGKILL, KILL_PATIENCE_S)):
            if self._popen.poll() is None:
                self._popen.send_signal(number)
                try:
                    self._popen.wait(timeout=patience_s)
                except subprocess.TimeoutExpired:
                    continue
        if self._popen.stdout is not None:
            self._popen.stdout.close()
        return self._popen.wait()

    def complaint(self) -> str:
        """The end of its log, for an error message."""
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return " / ".join(lines[-3:]) or "(nothing in its log)"


def end_pids(pids: Sequence[int]) -> None:
    """Ends processes that are not children of this one; each by its id, politely first."""
    for number, patience_s in ((signal.SIGTERM, TERM_PATIENCE_S), (signal.SIGKILL, KILL_PATIENCE_S)):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        end = time.monotonic() + patience_s
        while any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids):
            if time.monotonic() > end:
                break
            time.sleep(0.05)
        else:
            return
