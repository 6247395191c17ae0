"""Runs test commands so that nothing of them is left when they end or when the whole run is interrupted.

Every command gets a session of its own, and an environment variable that all its descendants inherit: that finds those
that left the session, the network namespace or the process group, too.
"""

import os
import pathlib
import signal
import subprocess
import threading
import time

MARK = "WEFT_TEST_CASE"
TIMED_OUT = 124
POLITE_S = 20  # a testbed takes down its namespaces when it gets SIGTERM


class Interrupted(Exception):
    """The run is being stopped; no further command starts."""


def marked_processes(mark):
    """{pid: command name} of every process whose MARK starts with `mark`."""
    wanted = f"{MARK}={mark}".encode()
    found = {}
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            if any(word.startswith(wanted) for word in (folder / "environ").read_bytes().split(b"\0")):
                found[int(folder.name)] = (folder / "comm").read_text().strip()
        except OSError:
            continue  # gone, or not ours
    return found


def wait_gone(mark, patience_s):
    deadline = time.monotonic() + patience_s
    while (left := marked_processes(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def signal_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def signal_session(leader, number):
    """To the leader's whole group, as a terminal does: a shell runs its traps only once its foreground child is gone."""
    try:
        os.killpg(leader.pid, number)
    except ProcessLookupError:
        pass


class Processes:
    """The commands that are running. run() may be called from several threads; stop() ends them all, for good."""

    def __init__(self, root, environment):
        self.root = root
        self.environment = environment
        self.run_mark = f"{os.getpid()}."
        self.lock = threading.Lock()
        self.stopping = False
        self.started = 0
        self.live = set()

    def run(self, command, log_path, timeout_s, folder=None, environment=None):
        """(exit status, names of processes it left behind). The log holds stdout and stderr.

        In `folder` instead of the root; `environment` is added to everybody's."""
        with open(log_path, "ab") as log:
            with self.lock:
                if self.stopping:
                    raise Interrupted
                self.started += 1
                mark = f"{self.run_mark}{self.started}."
                process = subprocess.Popen(
                    [str(word) for word in command], cwd=folder or self.root, stdin=subprocess.DEVNULL, stdout=log,
                    stderr=subprocess.STDOUT, env={**self.environment, **(environment or {}), MARK: mark},
                    start_new_session=True)
                self.live.add(process)
            try:
                status = process.wait(timeout=timeout_s)
                left = wait_gone(mark, patience_s=2)
            except subprocess.TimeoutExpired:
                log.write(f"\ntimed out after {timeout_s} s\n".encode())
                status, left = TIMED_OUT, {}
            self.end(mark, process)
            with self.lock:
                self.live.discard(process)
                if self.stopping:
                    raise Interrupted
        return status, sorted(set(left.values()))

    @staticmethod
    def end(mark, leader):
        """Ends every process with the mark: the leader first and politely, so that it can take down what it set up."""
        if leader.poll() is None:
            signal_session(leader, signal.SIGTERM)
            try:
                leader.wait(POLITE_S)
            except subprocess.TimeoutExpired:
                pass
        signal_all(marked_processes(mark), signal.SIGTERM)
        signal_all(wait_gone(mark, patience_s=3), signal.SIGKILL)
        wait_gone(mark, patience_s=3)
        leader.wait()

    def stop(self):
        """Ends every command; those waiting in run() raise Interrupted."""
        with self.lock:
            self.stopping = True
            leaders = list(self.live)
        for leader in leaders:
            signal_session(leader, signal.SIGTERM)
        signal_all(wait_gone(self.run_mark, POLITE_S), signal.SIGKILL)
        wait_gone(self.run_mark, patience_s=5)
