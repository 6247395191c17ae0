"""How `lab exec` and a guest talk: frames of a kind, a length and that many bytes over one TCP connection a command.

To the guest: REQUEST (the command, a JSON array), INPUT (of the command; empty: no more), SIGNAL (its number). From the guest:
HELLO once the connection is served, OUTPUT, ERRORS, and EXIT (the status) at the end. Whoever sees the connection end
before EXIT ends the command, or says that the guest is gone.
"""

import socket
import struct

PORT = 7000
REQUEST, INPUT, SIGNAL, HELLO, OUTPUT, ERRORS, EXIT = b"R", b"I", b"S", b"H", b"O", b"E", b"X"
_HEAD = struct.Struct("!cI")


def send(connection: socket.socket, kind: bytes, body: bytes = b"") -> None:
    connection.sendall(_HEAD.pack(kind, len(body)) + body)


def receive(connection: socket.socket) -> tuple[bytes, bytes] | None:
    """The next frame; None when the other side is gone."""
    try:
        head = _receive_bytes(connection, _HEAD.size)
        if head is None:
            return None
        kind, length = _HEAD.unpack(head)
        body = _receive_bytes(connection, length)
    except ConnectionError:
        return None
    return None if body is None else (kind, body)


def _receive_bytes(connection: socket.socket, count: int) -> bytes | None:
    received = bytearray()
    while len(received) < count:
        piece = connection.recv(count - len(received))
        if not piece:
            return None
        received += piece
    return bytes(received)
