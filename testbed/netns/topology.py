"""The five nodes of a lab, made and unmade."""

import dataclasses
import fcntl
import pathlib

from testbed.netns.errors import LabError, UsageError
from testbed.netns.namespace import Namespace, connect

LOCKS = pathlib.Path("/run/weft-lab")
NODES = ("host-a", "gw-a", "wan", "gw-b", "host-b")
# A PMTU of 1024 and a repair for it fit 1500; larger PMTUs need jumbo frames on the WAN.
WAN_MTU = 1500
JUMBO_MTU = 9000
LARGEST_PMTU_WITHOUT_JUMBO = 1024


@dataclasses.dataclass(frozen=True)
class Host:
    node: str
    mac: str
    ipv4: str
    ipv6: str


# Each in a prefix of its own datacenter (10.1.0.0/16 and 10.2.0.0/16, fd00:1::/48 and fd00:2::/48), which is what peers
# are told apart by; the masks are wider, since the gateways are bridges and the hosts neighbours.
HOST_A = Host("host-a", "02:57:45:46:54:0a", "10.1.0.2", "fd00:1::2")
HOST_B = Host("host-b", "02:57:45:46:54:0b", "10.2.0.2", "fd00:2::2")
# What bridges have when they are those of training hosts: the host's own addresses, beside those of its endpoint.
BRIDGE_ADDRESSES = {"gw-a": ("10.1.0.9", "fd00:1::9"), "gw-b": ("10.2.0.9", "fd00:2::9")}
IPV4_MASK_BITS = 8
IPV6_MASK_BITS = 16


def wan_mtu_for(pmtu: int) -> int:
    return WAN_MTU if pmtu <= LARGEST_PMTU_WITHOUT_JUMBO else JUMBO_MTU


class Topology:
    """The namespaces weft-NAME-NODE. Empty until create(); delete() takes away whatever is there of it."""

    def __init__(self, name: str):
        if not name.replace("-", "").isalnum() or len(name) > 32:
            raise UsageError(f"'{name}' cannot name a lab", "letters, digits and dashes, at most 32")
        self.name = name
        self.nodes = {node: Namespace(f"weft-{name}-{node}") for node in NODES}

    def __getitem__(self, node: str) -> Namespace:
        return self.nodes[node]

    def claim(self) -> None:
        """Before create(): whoever fails or ends after it takes down what is there by this name, so it must be its own.
        The claim ends with the process."""
        LOCKS.mkdir(parents=True, exist_ok=True)
        self._lock = open(LOCKS / f"{self.name}.lock", "w", encoding="ascii")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError(f"a lab named '{self.name}' is being made or measured", "another --name") from None
        if any(node.exists() for node in self.nodes.values()):
            raise LabError(f"a lab named '{self.name}' is there already",
                           f"testbed/lab down --name {self.name}, or another --name")

    def create(self, wan_mtu: int, role: str = "gateway") -> None:
        """After claim(). With the role "host", what is gw-a and gw-b otherwise are training hosts, and host-a and
        host-b their soft-RoCE endpoints behind a veth."""
        for node in self.nodes.values():
            node.create()
        connect(self.nodes["host-a"], "eth0", self.nodes["gw-a"], "lan0", JUMBO_MTU)
        connect(self.nodes["gw-a"], "wan0", self.nodes["wan"], "a0", wan_mtu)
        connect(self.nodes["wan"], "b0", self.nodes["gw-b"], "wan0", wan_mtu)
        connect(self.nodes["gw-b"], "lan0", self.nodes["host-b"], "eth0", JUMBO_MTU)
        for gateway in ("gw-a", "gw-b"):
            self._bridge(gateway)
            if role == "host":
                for address, mask in zip(BRIDGE_ADDRESSES[gateway], (IPV4_MASK_BITS, IPV6_MASK_BITS)):
                    self.nodes[gateway].call("ip", "address", "add", f"{address}/{mask}", "dev", "br0")
        for own, other in ((HOST_A, HOST_B), (HOST_B, HOST_A)):
            self._address(own, other)

    def delete(self) -> None:
        for node in self.nodes.values():
            node.delete()

    def _bridge(self, gateway: str) -> None:
        node = self.nodes[gateway]
        node.call("ip", "link", "add", "br0", "type", "bridge", "stp_state", "0", "forward_delay", "0",
                  "mcast_snooping", "0")
        for port in ("lan0", "wan0"):
            node.call("ip", "link", "set", port, "master", "br0")
        node.call("ip", "link", "set", "br0", "up")

    def _address(self, own: Host, other: Host) -> None:
        node = self.nodes[own.node]
        node.call("ip", "link", "set", "eth0", "address", own.mac)
        node.call("ip", "address", "add", f"{own.ipv4}/{IPV4_MASK_BITS}", "dev", "eth0")
        node.call("ip", "address", "add", f"{own.ipv6}/{IPV6_MASK_BITS}", "dev", "eth0", "nodad")
        for address in (other.ipv4, other.ipv6):
            node.call("ip", "neighbour", "replace", address, "lladdr", other.mac, "dev", "eth0", "nud", "permanent")
