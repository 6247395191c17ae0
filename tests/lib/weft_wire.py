"""Weft packets by docs/protocol.md, in plain Python: a second implementation that shares no code with the agent.

It is slow and trusts its input: it makes and checks the vectors in tests/data/wire. Names of fields are those of the
vectors.
"""

import hashlib
import hmac
import ipaddress
import struct

MAGIC = b"WEFT"
VERSION = 1
UDP_PORT = 4793
TYPES = {"hello": 1, "feedback": 2, "announcement": 3, "manifest": 4, "repair": 5, "ack_copy": 6}
STATES = {"seeking": 0, "echo_seen": 1, "complete": 2}
CODES = {"rs": 1, "xor": 2}


# ---- keys and tags ----

def hkdf(psk, info, length=32, salt=b"weft-v1"):
    """RFC 5869 with SHA-256; one block is enough for a key."""
    pseudo_random_key = hmac.new(salt, psk, hashlib.sha256).digest()
    return hmac.new(pseudo_random_key, info + b"\x01", hashlib.sha256).digest()[:length]


def hello_key(psk, sender):
    return hkdf(psk, b"hello" + sender)


def data_key(psk, sender, receiver):
    return hkdf(psk, b"data" + sender + receiver)


def _aes_sbox():
    sbox, p, q = [0] * 256, 1, 1
    while True:
        p = p ^ (p << 1 & 0xFF) ^ (0x1B if p & 0x80 else 0)  # times 3
        for shift in (1, 2, 4):
            q ^= q << shift & 0xFF
        q ^= 0x09 if q & 0x80 else 0  # divided by 3
        rotated = [(q << n | q >> (8 - n)) & 0xFF for n in range(5)]
        sbox[p] = rotated[0] ^ rotated[1] ^ rotated[2] ^ rotated[3] ^ rotated[4] ^ 0x63
        if p == 1:
            break
    sbox[0] = 0x63
    return sbox


SBOX = _aes_sbox()


def _double(byte):
    return (byte << 1 & 0xFF) ^ (0x1B if byte & 0x80 else 0)


def aes256_encrypt(key, block):
    """FIPS 197, one block."""
    words = [list(key[i:i + 4]) for i in range(0, 32, 4)]
    rcon = 1
    for i in range(8, 60):
        word = list(words[i - 1])
        if i % 8 == 0:
            word = [SBOX[b] for b in word[1:] + word[:1]]
            word[0] ^= rcon
            rcon = _double(rcon)
        elif i % 8 == 4:
            word = [SBOX[b] for b in word]
        words.append([a ^ b for a, b in zip(words[i - 8], word)])
    round_keys = [sum(words[4 * n:4 * n + 4], []) for n in range(15)]
    state = [a ^ b for a, b in zip(block, round_keys[0])]
    for n in range(1, 15):
        state = [SBOX[state[(i + 4 * (i % 4)) % 16]] for i in range(16)]  # SubBytes and ShiftRows
        if n < 14:
            mixed = []
            for column in range(0, 16, 4):
                a = state[column:column + 4]
                everything = a[0] ^ a[1] ^ a[2] ^ a[3]
                mixed += [a[i] ^ everything ^ _double(a[i] ^ a[(i + 1) % 4]) for i in range(4)]
            state = mixed
        state = [a ^ b for a, b in zip(state, round_keys[n])]
    return bytes(state)


def gcm_tag(key, nonce, authenticated):
    """AES-256-GCM (NIST SP 800-38D) with nothing encrypted and a 96-bit nonce."""
    h = int.from_bytes(aes256_encrypt(key, bytes(16)), "big")
    padded = authenticated + bytes(-len(authenticated) % 16) + struct.pack(">QQ", 8 * len(authenticated), 0)
    y = 0
    for i in range(0, len(padded), 16):
        x, y, v = y ^ int.from_bytes(padded[i:i + 16], "big"), 0, h
        for bit in range(127, -1, -1):
            if x >> bit & 1:
                y ^= v
            v = v >> 1 ^ (0xE1 << 120 if v & 1 else 0)
    mask = int.from_bytes(aes256_encrypt(key, nonce + b"\0\0\0\1"), "big")
    return (y ^ mask).to_bytes(16, "big")


def packet(key, sender, packet_type, body, counter, lane=0, lane_count=1):
    head = MAGIC + struct.pack(">BBBB", VERSION, TYPES[packet_type], lane, lane_count) + sender[:8] + struct.pack(
        ">Q", counter)
    return head + body + gcm_tag(key, struct.pack(">IQ", lane, counter), head + body)


# ---- bodies ----

def _u24(value):
    return value.to_bytes(3, "big")


def _stream(fields):
    return bytes([fields["class"] << 4 | fields["level"]])


def hello(f):
    return (bytes.fromhex(f["boot_id"]) + bytes.fromhex(f["echoed_boot_id"]) + struct.pack(
        ">QQQQIHBB", f["sent_at_ns"], f["echoed_sent_at_ns"], f["echo_delay_ns"], f["classes_digest"], f["capabilities"],
        f["mtu_bytes"], STATES[f["state"]], 0))


def feedback(f):
    return (struct.pack(">IIQQQ", f["sequence"], f["period_us"], f["sent_at_ns"], f["echoed_sent_at_ns"],
                        f["echo_delay_ns"]) + struct.pack(
        ">QQQQQ", f["expected_packets"], f["lost_packets"], f["loss_runs"], f["ce_marked_packets"],
        f["undecodable_packets"]) + struct.pack(">HH", len(f["confirmed_flows"]), len(f["covered"])) + b"".join(
        struct.pack(">H", flow) for flow in f["confirmed_flows"]) + b"".join(
        _stream(covered) + struct.pack(">I", covered["ordinal"]) for covered in f["covered"]))


def announcement(f):
    body = bytes([len(f["flows"])])
    for flow in f["flows"]:
        src, dst = ipaddress.ip_address(flow["src"]), ipaddress.ip_address(flow["dst"])
        flags = (1 if src.version == 6 else 0) | (2 if flow["response"] else 0)
        body += (struct.pack(">HB", flow["id"], flow["epoch"]) + _stream(flow) + bytes([flags]) + _u24(flow["dest_qpn"])
                 + src.packed + dst.packed)
    return body


def manifest(f):
    body = _stream(f) + bytes([len(f["runs"]), len(f["descriptors"]), 0]) + struct.pack(">I", f["first_ordinal"])
    for run in f["runs"]:
        body += struct.pack(">H", run["flow"]) + _u24(run["first_psn"]) + struct.pack(">H", run["packets"])
    for d in f["descriptors"]:
        end = d["end"]
        flags = 1 if d["mig_req"] else 0
        if end:
            flags |= 2 | (4 if end["solicited_event"] else 0) | (8 if end["imm"] is not None else 0)
        body += (struct.pack(">H", d["flow"]) + _u24(d["first_psn"]) + bytes([flags, d["pmtu_bytes"].bit_length() - 1])
                 + struct.pack(">HQII", d["pkey"], d["va"], d["rkey"], d["length_bytes"]))
        if end and end["imm"] is not None:
            body += struct.pack(">I", end["imm"])
    return body


def repair(f):
    """f["list"] is null or {"entries": [{flow, first_psn, stride}], "symbols": [{entry, step, fingerprint}]}."""
    listed, symbol = f["list"], bytes.fromhex(f["symbol"])
    flags = CODES[f["code"]] | (0x10 if f["ce_seen"] else 0) | (0x20 if listed else 0) | (0x40 if symbol else 0)
    body = _stream(f) + bytes([flags, f["interleave"], f["block"], f["k"], f["r"], f["index"],
                               len(listed["entries"]) if listed else 0]) + struct.pack(
        ">IH", f["first_ordinal"], f["symbol_bytes"])
    if listed:
        for entry in listed["entries"]:
            body += struct.pack(">H", entry["flow"]) + _u24(entry["first_psn"]) + bytes([entry["stride"]])
        for s in listed["symbols"]:
            body += bytes([s["entry"] << 4 | s["step"]]) + struct.pack(">H", s["fingerprint"])
    return body + symbol


def ack_copy(f):
    return bytes.fromhex(f["ip_packet"])


BODIES = {"hello": hello, "feedback": feedback, "announcement": announcement, "manifest": manifest, "repair": repair,
          "ack_copy": ack_copy}


def sources(listed):
    """The (flow, PSN, fingerprint) that a list names."""
    psns = [entry["first_psn"] for entry in listed["entries"]]
    named = []
    for s in listed["symbols"]:
        entry = listed["entries"][s["entry"]]
        psns[s["entry"]] = (psns[s["entry"]] + s["step"] * entry["stride"]) & 0xFFFFFF
        named.append({"flow": entry["flow"], "psn": psns[s["entry"]], "fingerprint": s["fingerprint"]})
    return named


# ---- symbols and codes ----

def symbol(ip_packet):
    """The length, then the packet with the fields outside the ICRC zeroed."""
    p = bytearray(ip_packet)
    if p[0] >> 4 == 4:
        udp, exempt = 20, [1, 8, 10, 11]
    else:
        udp, exempt = 40, [1, 2, 3, 7]
        p[0] &= 0xF0
    for offset in exempt + [udp + 6, udp + 7, udp + 8 + 4]:
        p[offset] = 0
    return struct.pack(">H", len(p)) + bytes(p)


def gf_multiply(a, b):
    product = 0
    while b:
        if b & 1:
            product ^= a
        a = a << 1 ^ (0x11D if a & 0x80 else 0)
        b >>= 1
    return product


def coefficient(code, row, column, rows):
    if code == "xor":
        return 1 if column % rows == row else 0
    point = (224 + row) ^ column
    return next(inverse for inverse in range(256) if gf_multiply(point, inverse) == 1)


def repairs(code, rows, symbols):
    length = max(len(s) for s in symbols)
    made = []
    for row in range(rows):
        out = bytearray(length)
        for column, s in enumerate(symbols):
            factor = coefficient(code, row, column, rows)
            for i, byte in enumerate(s):
                out[i] ^= gf_multiply(factor, byte)
        made.append(bytes(out))
    return made


# ---- captures ----

def frame(payload, number):
    """In an Ethernet frame: IPv4, and every third one IPv6 behind a VLAN tag."""
    udp = struct.pack(">HHHH", 0xC000 + number, UDP_PORT, 8 + len(payload), 0) + payload
    if number % 3 == 2:
        ip = struct.pack(">IHBB", 6 << 28, len(udp), 17, 64) + bytes(15) + b"\1" + bytes(15) + b"\2"
        return bytes(12) + struct.pack(">HHH", 0x8100, 7, 0x86DD) + ip + udp
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, b"\x0a\1\0\1", b"\x0a\2\0\2")
    return bytes(12) + b"\x08\0" + ip + udp


def pcap(payloads):
    """A capture of these UDP payloads, a second apart."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for number, payload in enumerate(payloads):
        data = frame(payload, number)
        out += struct.pack("<IIII", number, 0, len(data), len(data)) + data
    return out
