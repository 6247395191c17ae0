"""Runs in a guest: the commands that `lab exec` and the lab itself send, each in a session of its own."""

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading

import frames

CHUNK_BYTES = 65536


def pump(connection: socket.socket, process: subprocess.Popen) -> None:
    """Until the command has ended, or whoever asked for it is gone. What it left in the background, holding its pipes
    open, is not waited for."""
    pipes = {process.stdout: frames.OUTPUT, process.stderr: frames.ERRORS}
    end = os.pidfd_open(process.pid)
    with selectors.DefaultSelector() as selector:
        for source in (connection, end, *pipes):
            selector.register(source, selectors.EVENT_READ)
        while True:
            ready = [key.fileobj for key, _ in selector.select()]
            for pipe in [source for source in ready if source in pipes]:
                chunk = os.read(pipe.fileno(), CHUNK_BYTES)
                if chunk:
                    frames.send(connection, pipes[pipe], chunk)
                else:
                    selector.unregister(pipe)
            if connection in ready and not obey(connection, process):
                break
            if ready == [end]:
                break
    os.close(end)


def obey(connection: socket.socket, process: subprocess.Popen) -> bool:
    frame = frames.receive(connection)
    if frame is None:
        return False
    kind, body = frame
    if kind == frames.SIGNAL:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, int(body))
    elif kind == frames.INPUT:
        with contextlib.suppress(BrokenPipeError, ValueError):
            if body:
                process.stdin.write(body)
                process.stdin.flush()
            else:
                process.stdin.close()
    return True


def serve(connection: socket.socket) -> None:
    with connection, contextlib.suppress(ConnectionError):
        frames.send(connection, frames.HELLO)
        frame = frames.receive(connection)
        if frame is None:
            return
        frames.send(connection, frames.EXIT, str(run(connection, json.loads(frame[1]))).encode())
        # Closed with something unread, a connection takes back what the other side has not read.
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(CHUNK_BYTES):
            pass


def run(connection: socket.socket, argv: list[str]) -> int:
    """Returns the exit status, a shell's way."""
    try:
        process = subprocess.Popen(argv, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True)
    except OSError as error:
        frames.send(connection, frames.ERRORS, f"{argv[0]}: {error.strerror}\n".encode())
        return 127
    try:
        pump(connection, process)
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    status = process.wait()
    return status if status >= 0 else 128 - status


def main() -> int:
    with socket.create_server(("", frames.PORT), backlog=64) as listener:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
