"""The command line of testbed/vm/lab."""

import argparse
import pathlib
import tempfile

from testbed.netns.cli import carry_out, execute_in, version, wan_options
from testbed.netns.scenario import Scenario
from testbed.netns.standing import down, stand
from testbed.netns.topology import NODES, wan_mtu_for
from testbed.vm import kernel
from testbed.vm.guest import prepare
from testbed.vm.netem import both_directions
from testbed.vm.topology import GuestTopology

# A tenth of what namespaces carry: a guest may have to do without KVM.
RATE = "20mbit"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="testbed/vm/lab", description="Two datacenters and a WAN between them, of guests with stock Debian kernels: "
                                           "rdma_rxe in host-a and host-b, tc-netem in wan. Needs root.")
    parser.add_argument("--version", action="version", version=version())
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    named = argparse.ArgumentParser(add_help=False)
    named.add_argument("--name", default="vm", help="several labs can be there at once (default %(default)s)")
    booted = argparse.ArgumentParser(add_help=False)
    booted.add_argument("--kernel", choices=kernel.PACKAGES, default="6.1",
                        help="of the guests; its package is fetched once, to build/vm (default %(default)s)")

    commands.add_parser("check", parents=[booted], help="whether guests start here; exit status 3 if not")
    up_parser = commands.add_parser("up", parents=[named, booted], help="make a lab that stays")
    wan_options(up_parser, RATE)
    exec_parser = commands.add_parser("exec", parents=[named], help="run a command in a node of a lab that is up")
    exec_parser.add_argument("node", choices=NODES)
    exec_parser.add_argument("argv", nargs="+", metavar="-- CMD", help="the command and its arguments")
    commands.add_parser("down", parents=[named], help="end everything in a lab and remove it")
    return parser


def _check(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="weft-vm-") as folder:
        boot = prepare(kernel.get(options.kernel), pathlib.Path(folder), sure=True)
    print(f"guests with Linux {boot.kernel.release} start here, with {boot.accelerator.upper()}")


def _up(options: argparse.Namespace) -> None:
    scenario = Scenario(loss=options.loss, burst=options.burst, rtt=options.rtt, rate=options.rate, pmtu=options.pmtu)
    topology = GuestTopology(options.name)
    wan_mtu = wan_mtu_for(scenario.pmtu)
    unpacked = kernel.get(options.kernel)

    def start(folder: pathlib.Path) -> None:
        topology.boot(prepare(unpacked, folder), wan_mtu, folder)
        topology.set_wan(wan_mtu, *both_directions(scenario))

    stand(topology, wan_mtu, start)
    print(f"lab '{options.name}' is up, Linux {unpacked.release}; "
          f"testbed/vm/lab exec host-a --name {options.name} -- ping 10.2.0.2")


def _dispatch(options: argparse.Namespace) -> None:
    match options.command:
        case "check":
            _check(options)
        case "up":
            _up(options)
        case "exec":
            execute_in(GuestTopology(options.name), options.node, options.argv, "testbed/vm/lab")
        case "down":
            down(options.name)


def main() -> int:
    return carry_out(_parser().parse_args(), _dispatch)
