"""Small RoCEv2 frames for tests: enough to be taken by the XDP programs and to be told apart on arrival.

As a program it sends or receives them on an interface, through AF_PACKET:

    roce_frames.py send INTERFACE --src ... --dst ... --src-mac ... --dst-mac ... --count N --rate PPS [...]
    roce_frames.py receive INTERFACE --out FILE          until SIGTERM; writes {"arrivals": [[psn, time_ns], ...]}
"""

import argparse
import errno
import ipaddress
import json
import signal
import socket
import struct
import sys
import time
import zlib

ROCE_PORT = 4791
WRITE_MIDDLE = 0x07
ACKNOWLEDGE = 0x11
ETH_P_ALL = 3
FULL_FOR_S = 5  # longer than any test leaves an agent stopped
SO_RCVBUFFORCE = 33  # not in Python's socket module
SO_TIMESTAMPNS = 35


def ipv4_header(src, dst, dscp, payload_bytes):
    fields = [0x45, dscp << 2, 20 + payload_bytes, 0, 0x4000, 64, 17, 0, src.packed, dst.packed]
    header = struct.pack("!BBHHHBBH4s4s", *fields)
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    fields[7] = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return struct.pack("!BBHHHBBH4s4s", *fields)


def ipv6_header(src, dst, dscp, payload_bytes):
    return struct.pack("!IHBB16s16s", 6 << 28 | dscp << 22, payload_bytes, 17, 64, src.packed, dst.packed)


def icrc(ip, rest):
    """CRC-32 over the packet with what routers may change set to ones (IBTA annex A17)."""
    masked_ip = bytearray(ip)
    if len(ip) == 20:
        masked_ip[1] = masked_ip[8] = 0xFF
        masked_ip[10:12] = b"\xff\xff"
    else:
        masked_ip[0] |= 0x0F
        masked_ip[1:4] = b"\xff\xff\xff"
        masked_ip[7] = 0xFF
    masked_rest = bytearray(rest)
    masked_rest[6:8] = b"\xff\xff"
    masked_rest[12] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(masked_ip) + bytes(masked_rest)))


def frame(src_mac, dst_mac, src, dst, psn, payload, dscp=10, qpn=0x123, opcode=WRITE_MIDDLE):
    src, dst = ipaddress.ip_address(src), ipaddress.ip_address(dst)
    body = b"\0\0\0\0" if opcode == ACKNOWLEDGE else payload
    bth = struct.pack("!BBHII", opcode, 0, 0xFFFF, qpn, psn & 0xFFFFFF)
    udp_bytes = 8 + len(bth) + len(body) + 4
    udp = struct.pack("!HHHH", 0xC123, ROCE_PORT, udp_bytes, 0)
    ip = (ipv6_header if src.version == 6 else ipv4_header)(src, dst, dscp, udp_bytes)
    ether_type = 0x86DD if src.version == 6 else 0x0800
    ethernet = bytes.fromhex(dst_mac.replace(":", "")) + bytes.fromhex(src_mac.replace(":", ""))
    rest = udp + bth + body
    return ethernet + struct.pack("!H", ether_type) + ip + rest + icrc(ip, rest)


def psn_of(data):
    """The PSN of a RoCE frame, None for any other."""
    if len(data) < 62:
        return None
    ether_type = data[12] << 8 | data[13]
    if ether_type == 0x0800 and data[23] == 17:
        udp = 34
    elif ether_type == 0x86DD and data[20] == 17:
        udp = 54
    else:
        return None
    if data[udp + 2] << 8 | data[udp + 3] != ROCE_PORT:
        return None
    return int.from_bytes(data[udp + 17:udp + 20], "big")


def send(options):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    link.bind((options.interface, 0))
    payload = bytes(1 + i % 255 for i in range(options.payload))
    started = time.monotonic()
    for i in range(options.count):
        due = started + i / options.rate
        while (now := time.monotonic()) < due:
            time.sleep(min(due - now, 0.001))
        send_patiently(link, frame(options.src_mac, options.dst_mac, options.src, options.dst, options.first_psn + i,
                                   payload, options.dscp, options.qpn, options.opcode))
    return 0


def send_patiently(link, data):
    """A veth whose ring is full refuses a frame, which is then not sent: what else the host sends shares that ring."""
    end = time.monotonic() + FULL_FOR_S
    while True:
        try:
            link.send(data)
            return
        except OSError as error:
            if error.errno != errno.ENOBUFS or time.monotonic() > end:
                raise
        time.sleep(0.001)


def receive(options):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    link.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    link.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    link.bind((options.interface, 0))
    link.settimeout(0.05)
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    arrivals = []
    print("listening", flush=True)
    while True:
        try:
            data, ancillary, _, address = link.recvmsg(9000, 64)
        except TimeoutError:
            if stopping:
                break
            continue
        psn = psn_of(data)
        if psn is None or address[2] == socket.PACKET_OUTGOING:
            continue
        seconds, nanoseconds = struct.unpack("qq", ancillary[0][2][:16])
        arrivals.append([psn, seconds * 1_000_000_000 + nanoseconds])
    with open(options.out, "w") as out:
        json.dump({"arrivals": arrivals}, out)
    return 0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    sender = commands.add_parser("send")
    sender.add_argument("interface")
    sender.add_argument("--src-mac", required=True)
    sender.add_argument("--dst-mac", required=True)
    sender.add_argument("--src", required=True)
    sender.add_argument("--dst", required=True)
    sender.add_argument("--count", type=int, required=True)
    sender.add_argument("--rate", type=float, required=True, help="frames per second")
    sender.add_argument("--payload", type=int, default=1024)
    sender.add_argument("--dscp", type=int, default=10)
    sender.add_argument("--qpn", type=int, default=0x123)
    sender.add_argument("--opcode", type=int, default=WRITE_MIDDLE)
    sender.add_argument("--first-psn", type=int, default=0)
    receiver = commands.add_parser("receive")
    receiver.add_argument("interface")
    receiver.add_argument("--out", required=True)
    return parser.parse_args()


if __name__ == "__main__":
    arguments = parse_arguments()
    sys.exit(send(arguments) if arguments.command == "send" else receive(arguments))
