"""Network namespaces and the veth pairs between them, by iproute2."""

import pathlib
import subprocess
from collections.abc import Sequence

from testbed.netns.errors import LabError


def call(*command: str) -> str:
    """Runs a command and returns what it printed; a failure names the command and its complaint."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{' '.join(command)}: {done.stderr.strip() or f'exited with {done.returncode}'}")
    return done.stdout


class Namespace:
    """A named network namespace. Whoever creates it deletes it."""

    def __init__(self, name: str):
        self.name = name

    def exists(self) -> bool:
        return pathlib.Path("/run/netns", self.name).exists()

    def create(self) -> None:
        call("ip", "netns", "add", self.name)
        self.call("ip", "link", "set", "lo", "up")
        # Nothing may speak that was not asked to: no router solicitations, no multicast reports, no link-local address.
        self.sysctl("net.ipv6.conf.default.accept_ra", 0)
        self.sysctl("net.ipv6.conf.default.accept_dad", 0)
        self.sysctl("net.ipv6.conf.default.addr_gen_mode", 1)

    def delete(self) -> None:
        if self.exists():
            call("ip", "netns", "delete", self.name)

    def command(self, command: Sequence[str]) -> list[str]:
        """The command line that runs `command` inside; the process started is the command itself."""
        return ["ip", "netns", "exec", self.name, *command]

    def call(self, *command: str) -> str:
        return call(*self.command(command))

    def sysctl(self, key: str, value: int) -> None:
        self.call("sysctl", "-q", "-w", f"{key}={value}")

    def pids(self) -> list[int]:
        return [int(word) for word in call("ip", "netns", "pids", self.name).split()] if self.exists() else []


def connect(a: Namespace, a_interface: str, b: Namespace, b_interface: str, mtu: int) -> None:
    """A veth pair, up at both ends, behaving like wires between machines.

    Checksum and segmentation offload are off: a frame in which the kernel left a checksum to be done later, or a
    64 KiB one it means to cut later, is no frame on a wire, and whatever reads raw frames would take it for one. GRO is
    on since it makes the receiving end run NAPI, without which an XDP_REDIRECT into the pair is dropped silently.
    """
    call("ip", "link", "add", a_interface, "netns", a.name, "mtu", str(mtu), "type", "veth",
         "peer", "name", b_interface, "netns", b.name, "mtu", str(mtu))
    for namespace, interface in ((a, a_interface), (b, b_interface)):
        namespace.call("ethtool", "-K", interface, "tx", "off", "tso", "off", "gso", "off", "gro", "on")
        namespace.call("ip", "link", "set", interface, "up")
