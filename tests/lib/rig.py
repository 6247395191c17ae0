"""Two hosts and a gateway in network namespaces, for tests that need a running weftd:

    host-a  a0 ──── lan0  gw: bridge br0, weftd  wan0 ──── b0  host-b
    10.1.0.1, fd00:1::1                                10.2.0.2, fd00:2::2

All on one network, with static neighbours, so nothing is waited for. A test is a function that takes a Rig; main()
sets one up, runs the function, and takes everything down again, whatever happens. Exit status 77 skips, with the reason
as last line.
"""

import base64
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / "build/release/bin"
FRAMES = ROOT / "tests/lib/roce_frames.py"
SKIP_STATUS = 77
NODES = ("host-a", "gw", "host-b")
MACS = {"host-a": "02:00:00:00:01:01", "host-b": "02:00:00:00:02:02"}
ADDRESSES = {"host-a": ("10.1.0.1", "fd00:1::1"), "host-b": ("10.2.0.2", "fd00:2::2")}
PORTS = {"host-a": "a0", "host-b": "b0"}

CONFIG = """mode = "{mode}"
[port.lan]
interface = "{lan}"
xdp = "{xdp}"
[port.wan]
interface = "{wan}"
xdp = "{xdp}"
mtu = 1500
[[peer]]
name = "dc-b"
prefixes = ["10.2.0.0/16", "fd00:2::/48"]
key_file = "{key}"
[api]
socket = "{socket}"
{more}
"""


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def check(holds, message):
    if not holds:
        raise Failure(message)


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, **options)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))} exited with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


class Weftd:
    """A running agent. Its log is read as it grows; stop() returns its statistics."""

    def __init__(self, rig, config_path, arguments, environment):
        self.rig = rig
        self.config_path = config_path
        self.log_path = rig.scratch / f"weftd-{len(rig.processes)}.log"
        self.stats_path = self.log_path.with_suffix(".json")
        with open(self.log_path, "w") as log:
            self.process = rig.start("gw", BIN / "weftd", "--config", config_path, "--stats", self.stats_path, *arguments,
                                     stderr=log, env={**os.environ, **environment})

    def log(self):
        return self.log_path.read_text()

    def wait_for_log(self, text, times=1, patience_s=10):
        deadline = time.monotonic() + patience_s
        while self.log().count(text) < times:
            check(self.process.poll() is None, f"weftd ended with {self.process.poll()}: {self.log()}")
            check(time.monotonic() < deadline, f"weftd did not log '{text}': {self.log()}")
            time.sleep(0.01)

    def ctl(self, *words, expect=0):
        """weftctl with this agent's socket: its output when it exits as expected."""
        done = subprocess.run([str(BIN / "weftctl"), *words, "--socket", str(self.rig.scratch / "weftd.sock")],
                              text=True, capture_output=True, timeout=20)
        check(done.returncode == expect, f"weftctl {words} exited with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout if expect == 0 else done.stderr

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=10)
        check(status == 0, f"weftd ended with {status}: {self.log()}")
        return Statistics(json.loads(self.stats_path.read_text()))


class Statistics:
    def __init__(self, data):
        self.data = data

    def packets(self, port, cause, class_name=None):
        return sum(row["packets"] for row in self.data["xdp"]
                   if row["port"] == port and row["cause"] == cause and class_name in (None, row["class"]))

    def event(self, name):
        """Of the recovery engine, over all peers and classes."""
        return sum(sum(peer["events"].get(name, {}).values()) for peer in self.data["peers"])

    def queue(self, port, counter):
        return sum(row[counter] for row in self.data["queues"] if row["port"] == port)

    def kernel(self, port, counter):
        return sum(row["kernel"][counter] for row in self.data["queues"] if row["port"] == port)


class Receiver:
    """Collects the RoCE frames that arrive at a host."""

    def __init__(self, rig, node):
        self.path = rig.scratch / f"arrivals-{len(rig.processes)}.json"
        self.process = rig.start(node, "/usr/bin/python3", FRAMES, "receive", PORTS[node], "--out", self.path,
                                 stdout=subprocess.PIPE)
        check(self.process.stdout.readline() == "listening\n", "the receiver does not start")

    def arrivals(self):
        """[(psn, time_ns)], after waiting for stragglers."""
        time.sleep(0.2)
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)
        return [tuple(pair) for pair in json.loads(self.path.read_text())["arrivals"]]


class Rig:
    def __init__(self, mtu=1500):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="weft-rig-"))
        self.prefix = f"weft-{os.getpid()}-"
        self.mtu = mtu
        self.processes = []

    def __enter__(self):
        try:
            self.set_up()
        except BaseException:
            self.take_down()
            raise
        return self

    def __exit__(self, *_):
        self.take_down()

    def namespace(self, node):
        return self.prefix + node

    def set_up(self):
        for node in NODES:
            run("ip", "netns", "add", self.namespace(node))
            self.run(node, "sysctl", "-qw", "net.ipv6.conf.all.accept_dad=0", "net.ipv6.conf.default.accept_dad=0")
            self.run(node, "ip", "link", "set", "lo", "up")
        self.run("gw", "ip", "link", "add", "br0", "type", "bridge", "forward_delay", "0", "mcast_snooping", "0")
        for node, outer, inner in (("host-a", "a0", "lan0"), ("host-b", "b0", "wan0")):
            self.run(node, "ip", "link", "add", outer, "address", MACS[node], "type", "veth", "peer", "name", inner,
                     "netns", self.namespace("gw"))
            self.run("gw", "ip", "link", "set", inner, "master", "br0", "mtu", self.mtu, "up")
            self.run(node, "ip", "link", "set", outer, "mtu", self.mtu, "up")
            ipv4, ipv6 = ADDRESSES[node]
            self.run(node, "ip", "address", "add", f"{ipv4}/8", "dev", outer)
            self.run(node, "ip", "-6", "address", "add", f"{ipv6}/16", "dev", outer, "nodad")
        self.run("gw", "ip", "link", "set", "br0", "mtu", self.mtu, "up")
        for node, other in (("host-a", "host-b"), ("host-b", "host-a")):
            for address in ADDRESSES[other]:
                self.run(node, "ip", "neighbour", "replace", address, "lladdr", MACS[other], "dev", PORTS[node], "nud",
                         "permanent")

    def take_down(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()
        for node in NODES:
            subprocess.run(["ip", "netns", "delete", self.namespace(node)], capture_output=True)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def run(self, node, *command, **options):
        return run("ip", "netns", "exec", self.namespace(node), *command, **options)

    def start(self, node, *command, **options):
        words = ["ip", "netns", "exec", self.namespace(node), *command]
        process = subprocess.Popen([str(word) for word in words], text=True, **options)
        self.processes.append(process)
        return process

    def write_config(self, mode="protect", lan="lan0", wan="wan0", xdp="native", more="", name="weftd.toml"):
        key = self.scratch / "dc-b.key"
        if not key.exists():
            key.write_text(base64.b64encode(os.urandom(32)).decode() + "\n")
            key.chmod(0o600)
        path = self.scratch / name
        path.write_text(CONFIG.format(mode=mode, lan=lan, wan=wan, xdp=xdp, key=key, more=more,
                                      socket=self.scratch / "weftd.sock"))
        return path

    def weftd(self, *arguments, environment=(), **config):
        agent = Weftd(self, self.write_config(**config), arguments, dict(environment))
        agent.wait_for_log("(wan)")
        return agent

    def send(self, node="host-a", count=1000, rate=5000, ipv6=False, wait=True, **options):
        """RoCE frames from one host to the other."""
        other = "host-b" if node == "host-a" else "host-a"
        words = ["/usr/bin/python3", FRAMES, "send", PORTS[node], "--src-mac", MACS[node], "--dst-mac", MACS[other],
                 "--count", count, "--rate", rate]
        addresses = {"src": ADDRESSES[node][ipv6], "dst": ADDRESSES[other][ipv6]}
        for name, value in {**addresses, **options}.items():
            words += ["--" + name.replace("_", "-"), value]
        if wait:
            return self.run(node, *words)
        return self.start(node, *words)

    def ping(self, count=20, interval_s=0.01, ipv6=False, node="host-a", size=56):
        other = "host-b" if node == "host-a" else "host-a"
        out = self.run(node, "ping", "-q", "-n", "-W", "1", "-c", count, "-i", interval_s, "-s", size,
                       ADDRESSES[other][ipv6])
        check(f"{count} received" in out, out)

    @contextlib.contextmanager
    def process(self, node, *command, **options):
        process = self.start(node, *command, **options)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(timeout=5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def require_in_order(arrivals, count, first_psn=0):
    psns = [psn for psn, _ in arrivals]
    expected = list(range(first_psn, first_psn + count))
    if psns == expected:
        return
    missing = sorted(set(expected) - set(psns))
    check(not missing, f"{len(missing)} of {count} lost, first {missing[:5]}")
    check(len(psns) == count, f"{len(psns)} arrived of {count}: duplicates")
    raise Failure("out of order at " + str(next(i for i in range(count) if psns[i] != expected[i])))


def longest_gap_ms(arrivals):
    times = sorted(time_ns for _, time_ns in arrivals)
    return max((b - a for a, b in zip(times, times[1:])), default=0) / 1e6


def main(*tests, mtu=1500):
    """Runs each test in a rig of its own."""
    if os.geteuid() != 0:
        print("needs root")
        return SKIP_STATUS
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(129))
    try:
        for test in tests:
            with Rig(mtu=mtu) as rig:
                started = time.monotonic()
                test(rig)
                print(f"{test.__name__}: {time.monotonic() - started:.1f} s", flush=True)
    except Skip as reason:
        print(reason)
        return SKIP_STATUS
    except Failure as failure:
        print(f"{test.__name__}: {failure}")
        return 1
    print(f"{len(tests)} checks passed")
    return 0
