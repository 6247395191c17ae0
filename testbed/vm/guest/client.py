"""client.py [--wait SECONDS] -- COMMAND: runs a command in the guest whose port is on this network namespace's loopback,
with this process's standard streams, and exits with its status. Signals go to the command; 255: the guest is gone."""

import argparse
import json
import os
import selectors
import signal
import socket
import sys
import time

import frames

GONE = 255
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CHUNK_BYTES = 65536
_RETRY_S = 0.2


def connect(patience_s: float) -> socket.socket | None:
    """A connection somebody serves: QEMU accepts on behalf of a guest that is still booting."""
    end = time.monotonic() + patience_s
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", frames.PORT), timeout=5)
            if frames.receive(connection) is not None:
                connection.settimeout(None)
                return connection
            connection.close()
        except OSError:
            pass
        if time.monotonic() > end:
            return None
        time.sleep(_RETRY_S)


def converse(connection: socket.socket) -> int:
    wake, woken = socket.socketpair()
    woken.setblocking(False)
    signal.set_wakeup_fd(woken.fileno())
    for number in _FORWARDED:
        signal.signal(number, lambda *_: None)
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        selector.register(wake, selectors.EVENT_READ)
        try:
            selector.register(sys.stdin.fileno(), selectors.EVENT_READ)
        except PermissionError:  # a plain file, or /dev/null: always ready
            send_file(connection)
        while True:
            for key, _ in selector.select():
                if key.fileobj is connection:
                    frame = frames.receive(connection)
                    if frame is None:
                        return GONE
                    kind, body = frame
                    if kind == frames.EXIT:
                        return int(body)
                    write_all((sys.stdout if kind == frames.OUTPUT else sys.stderr).fileno(), body)
                elif key.fileobj is wake:
                    for number in wake.recv(16):
                        frames.send(connection, frames.SIGNAL, str(number).encode())
                else:
                    piece = os.read(sys.stdin.fileno(), _CHUNK_BYTES)
                    frames.send(connection, frames.INPUT, piece)
                    if not piece:
                        selector.unregister(sys.stdin.fileno())


def send_file(connection: socket.socket) -> None:
    while piece := os.read(sys.stdin.fileno(), _CHUNK_BYTES):
        frames.send(connection, frames.INPUT, piece)
    frames.send(connection, frames.INPUT)


def write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data):]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--wait", type=float, default=0)
    parser.add_argument("argv", nargs="+")
    options = parser.parse_args()
    status = GONE
    if connection := connect(options.wait):
        with connection:
            frames.send(connection, frames.REQUEST, json.dumps(options.argv).encode())
            try:
                status = converse(connection)
            except ConnectionError:
                pass
    if status == GONE:
        print("the guest does not answer", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
