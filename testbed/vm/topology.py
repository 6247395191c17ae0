"""The nodes of a lab of which three are virtual machines."""

import pathlib
import subprocess

from testbed.netns.namespace import Namespace
from testbed.netns.topology import HOST_A, HOST_B, IPV4_MASK_BITS, IPV6_MASK_BITS, Host, Topology
from testbed.vm.guest import Boot, Guest, Nic

# Guest -> its interfaces, by the wires of the lab they are put on: eth0, eth1...
_WIRES = {"host-a": ("eth0",), "wan": ("a0", "b0"), "host-b": ("eth0",)}
_WAN_MACS = {"a0": "02:57:45:46:54:a0", "b0": "02:57:45:46:54:b0"}


class GuestTopology(Topology):
    """host-a, wan and host-b are guests, once boot() was called, and commands run in those; gw-a and gw-b stay what
    they are. The machines end with their namespaces' processes."""

    guests: dict[str, Guest]

    def __init__(self, name: str):
        super().__init__(name)
        self.guests = {node: Guest(self.nodes[node]) for node in _WIRES}

    def __getitem__(self, node: str) -> Namespace | Guest:
        return self.guests.get(node) or self.nodes[node]

    def boot(self, boot: Boot, wan_mtu: int, folder: pathlib.Path) -> None:
        """After create(): starts the guests side by side; returns when all take commands and the hosts have rxe0. What
        they print is NODE.console in `folder`, which is writable to them."""
        machines: dict[str, subprocess.Popen] = {}
        for node, wires in _WIRES.items():
            nics = [self._tap(node, wire, wan_mtu) for wire in wires]
            with open(self._console(folder, node), "wb") as console:
                machines[node] = subprocess.Popen(
                    self.guests[node].qemu(boot, nics, folder), stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                    start_new_session=True)
        for node, machine in machines.items():
            self.guests[node].wait_up(machine, self._console(folder, node))
        for own, other in ((HOST_A, HOST_B), (HOST_B, HOST_A)):
            self.guests[own.node].provision(
                "soft-roce", "eth0", str(wan_mtu), f"{own.ipv4}/{IPV4_MASK_BITS}", f"{own.ipv6}/{IPV6_MASK_BITS}",
                other.ipv4, other.mac, other.ipv6, other.mac)

    def set_wan(self, wan_mtu: int, forward: str, reverse: str) -> None:
        """tc-netem's arguments each way; again to change them."""
        self.guests["wan"].provision("wan", "eth0", "eth1", str(wan_mtu), forward, reverse)

    def _address(self, own: Host, other: Host) -> None:
        """The addresses are the guests'."""

    def _tap(self, node: str, wire: str, mtu: int) -> Nic:
        """A bridge between a wire of the lab and a new tap device."""
        namespace = self.nodes[node]
        tap, bridge = f"tap-{wire}", f"br-{wire}"
        namespace.call("ip", "tuntap", "add", "dev", tap, "mode", "tap")
        namespace.call("ip", "link", "add", bridge, "type", "bridge", "stp_state", "0", "forward_delay", "0",
                       "mcast_snooping", "0")
        for port in (wire, tap):
            namespace.call("ip", "link", "set", port, "mtu", str(mtu), "master", bridge, "up")
        namespace.call("ip", "link", "set", bridge, "up")
        mac = _WAN_MACS[wire] if node == "wan" else {HOST_A.node: HOST_A.mac, HOST_B.node: HOST_B.mac}[node]
        return Nic(tap, mac, mtu)

    @staticmethod
    def _console(folder: pathlib.Path, node: str) -> pathlib.Path:
        return folder / f"{node}.console"
