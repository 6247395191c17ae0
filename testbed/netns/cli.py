"""The command line of testbed/lab."""

import argparse
import dataclasses
import os
import pathlib
import signal
import sys
from collections.abc import Callable

from testbed.netns import policy, traffic
from testbed.netns.errors import LabError, MachineError
from testbed.netns.demo import demo
from testbed.netns.measure import wan_settings
from testbed.netns.run import Sweep, run
from testbed.netns.scenario import OPERATIONS, PMTUS, ROLES, Scenario
from testbed.netns.standing import down, up
from testbed.netns.topology import NODES, Topology, wan_mtu_for
from testbed.netns.wan import ROOT, WanSettings


def wan_options(parser: argparse.ArgumentParser, rate: str = Scenario.rate) -> None:
    parser.add_argument("--loss", default="0", help="fraction of packets, or two for a>b,b>a (default %(default)s)")
    parser.add_argument("--burst", type=float, default=1, help="mean run of lost packets (default %(default)s)")
    parser.add_argument("--rtt", default="30ms", help="round trip (default %(default)s)")
    parser.add_argument("--rate", default=rate, help="of the WAN, at IP level (default %(default)s)")
    parser.add_argument("--pmtu", type=int, choices=PMTUS, default=1024,
                        help="path MTU of the endpoints; above 1024 the WAN has an MTU of 9000 (default %(default)s)")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="testbed/lab", description="Two datacenters, a WAN between them, in network namespaces. Needs root.")
    parser.add_argument("--version", action="version", version=version())
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    named = argparse.ArgumentParser(add_help=False)
    named.add_argument("--name", default="lab", help="several labs can be there at once (default %(default)s)")

    up_parser = commands.add_parser("up", parents=[named], help="make a lab that stays, WAN running")
    wan_options(up_parser)
    up_parser.add_argument("--seed", type=int, default=1, help="everything random (default %(default)s)")
    up_parser.add_argument("--profile", type=pathlib.Path,
                           help="WAN profile instead of --loss --burst --rtt --rate (netem/profiles/*.toml)")

    run_parser = commands.add_parser("run", parents=[named], help="measure policies against the lossless bound")
    run_parser.add_argument("--policy", "--policies", type=_policies, required=True, metavar="LIST", dest="policies",
                            help=f"of {', '.join(policy.names())}, or files ending in .toml; comma-separated")
    run_parser.add_argument("--seed", "--seeds", type=_seeds, default=[1], metavar="LIST", dest="seeds",
                            help="of everything random; with several, every policy is run with each (default 1)")
    wan_options(run_parser)
    run_parser.add_argument("--qps", type=int, default=1, help="messages in flight (default %(default)s)")
    run_parser.add_argument("--messages", type=int, default=300, help="how many (default %(default)s)")
    messages = run_parser.add_mutually_exclusive_group()
    messages.add_argument("--message-bytes", default="1mib,4mib",
                          help="sizes, equally many of each (default %(default)s)")
    messages.add_argument("--workload", help=f"instead: messages of a training step; {', '.join(traffic.NAMED)}, or a "
                                             "folder with a config.json and a plan.toml")
    run_parser.add_argument("--class", default="exact:26", dest="classes", metavar="NAME:DSCP,...",
                            help="equally many messages of each; agents know the classes by their own or the policy's "
                                 "[tags.dscp], a workload brings its own (default %(default)s)")
    run_parser.add_argument("--op", choices=OPERATIONS, default="write-imm",
                            help="how messages travel (default %(default)s)")
    run_parser.add_argument("--psn", type=int, help="where every queue pair starts, as NCCL's do at 0 (default: random)")
    run_parser.add_argument("--role", choices=ROLES, default="gateway",
                            help="of the agents: boxes in front of the hosts, or on the hosts themselves "
                                 "(default %(default)s)")
    run_parser.add_argument("--ipv6", action="store_true", help="instead of IPv4")
    run_parser.add_argument("--pcap", action="store_true",
                            help="capture whole frames at both ends of the WAN (wan-a.pcap, wan-b.pcap)")
    run_parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/lab",
                            help="folder for results.json, report.html and what they were made from "
                                 "(default build/lab)")

    demo_parser = commands.add_parser("demo", parents=[named], help="what Weft is for, measured in a few minutes")
    demo_parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/demo",
                             help="folder for results.json and report.html (default build/demo)")

    exec_parser = commands.add_parser("exec", parents=[named], help="run a command in a node of a lab that is up")
    exec_parser.add_argument("node", choices=NODES)
    exec_parser.add_argument("argv", nargs="+", metavar="-- CMD", help="the command and its arguments")

    commands.add_parser("down", parents=[named], help="end everything in a lab and remove it")
    return parser


def version() -> str:
    text = (ROOT / "CMakeLists.txt").read_text()
    return text.split("project(weft VERSION ", 1)[1].split()[0]


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _policies(text: str) -> list[str]:
    names = _words(text)
    if not names:
        raise argparse.ArgumentTypeError("an empty list")
    return names


def _seeds(text: str) -> list[int]:
    words = _words(text)
    if not words or not all(word.isdecimal() for word in words):
        raise argparse.ArgumentTypeError(f"'{text}': whole numbers, like 1,2,3")
    return [int(word) for word in words]


def _sweep(options: argparse.Namespace) -> Sweep:
    given = {field.name: getattr(options, field.name) for field in dataclasses.fields(Scenario) if field.name != "seed"}
    cells = [Scenario(**given, seed=seed) for seed in options.seeds]  # every seed checked before anything starts
    return Sweep(cells[:1], [policy.load(name) for name in options.policies], options.seeds)


def execute_in(topology: Topology, node: str, argv: list[str], lab: str) -> None:
    """Becomes the command; `lab` is the program that makes such labs."""
    if not topology.nodes[node].exists():
        raise LabError(f"there is no lab named '{topology.name}'", f"{lab} up --name {topology.name}")
    command = topology[node].command(argv)
    os.execvp(command[0], command)


def _up(options: argparse.Namespace) -> None:
    if options.profile is not None:
        settings = WanSettings(profile=options.profile.resolve(), seed=options.seed)
    else:
        scenario = Scenario(loss=options.loss, burst=options.burst, rtt=options.rtt, rate=options.rate,
                            pmtu=options.pmtu, seed=options.seed)
        settings = wan_settings(scenario, lossless=False)
    up(options.name, settings, wan_mtu_for(options.pmtu))


def _dispatch(options: argparse.Namespace) -> None:
    match options.command:
        case "up":
            _up(options)
        case "run":
            run(options.name, _sweep(options), options.out)
        case "demo":
            demo(options.name, options.out)
        case "exec":
            execute_in(Topology(options.name), options.node, options.argv, "testbed/lab")
        case "down":
            down(options.name)


def _unwind(number: int, _frame: object) -> None:
    """Ctrl-C, a polite kill and a closed terminal leave by `finally`, which takes the lab down. Only once: an impatient
    second Ctrl-C must not interrupt that."""
    for again in _ENDINGS:
        signal.signal(again, signal.SIG_IGN)
    sys.exit(128 + number)


_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def carry_out(options: argparse.Namespace, dispatch: Callable[[argparse.Namespace], None]) -> int:
    """The exit status of a command of a lab, whatever ends it."""
    for number in _ENDINGS:
        signal.signal(number, _unwind)
    try:
        if os.geteuid() != 0:
            raise MachineError("network namespaces need root", "use sudo")
        dispatch(options)
        return 0
    except LabError as error:
        print(f"lab: {error}" + (f"\nHINT: {error.hint}" if error.hint else ""), file=sys.stderr)
        return error.status


def main() -> int:
    return carry_out(_parser().parse_args(), _dispatch)
