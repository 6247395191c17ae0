"""weftd in both gateways of a lab, with the tables of a policy."""

import json
import pathlib
from collections.abc import Mapping
from typing import Any

from testbed.netns.errors import LabError
from testbed.netns.namespace import call
from testbed.netns.process import Process
from testbed.netns.policy import Policy
from testbed.netns.scenario import Scenario
from testbed.netns.topology import HOST_A, HOST_B, Topology, wan_mtu_for
from testbed.netns.wan import PROGRAMS

# Each gateway, and what lies behind its peer.
_PEER_PREFIXES = {"gw-a": ["10.2.0.0/16", "fd00:2::/48"], "gw-b": ["10.1.0.0/16", "fd00:1::/48"]}
# Each gateway, and the host behind it.
_HOSTS = {"gw-a": HOST_A, "gw-b": HOST_B}
# What weftd says once it forwards.
_RUNNING = "(wan)"


def toml_value(value: Any) -> str:
    # JSON's strings, numbers and booleans are TOML's; arrays need their own separator only.
    return f"[{', '.join(map(toml_value, value))}]" if isinstance(value, list) else json.dumps(value)


def toml(tables: Mapping[str, Any], prefix: str = "") -> str:
    """Tables within tables as TOML text; the standard library reads TOML but does not write it."""
    lines = [f"{json.dumps(key)} = {toml_value(value)}" for key, value in tables.items() if not isinstance(value, dict)]
    for key, value in tables.items():
        if isinstance(value, dict):
            name = f"{prefix}{json.dumps(key)}"
            lines += [f"[{name}]", toml(value, f"{name}.")]
    return "\n".join(lines)


def _role(gateway: str, scenario: Scenario) -> dict[str, Any]:
    if scenario.role == "gateway":
        return {"kind": "gateway"}
    host = _HOSTS[gateway]
    return {"kind": "host", "addresses": [host.ipv4, host.ipv6]}


def configuration(gateway: str, policy: Policy, scenario: Scenario, key_file: pathlib.Path) -> dict[str, Any]:
    """weftd.toml of a gateway. Of the WAN the agents are told the MTU and nothing else; what the marks of the traffic
    mean is told to all policies alike, unless a policy says so itself."""
    tags = {} if scenario.traffic is None else {"tags": {"dscp": scenario.traffic.dscp_tags()}}
    return {
        "mode": "protect",
        "port": {"lan": {"interface": "lan0"}, "wan": {"interface": "wan0", "mtu": wan_mtu_for(scenario.pmtu)}},
        "role": _role(gateway, scenario),
        "caps": {"endpoint_timeout": f"{scenario.timeout_ms}ms"},
        "api": {"socket": str(key_file.parent / f"{gateway}.sock")},
        **tags, **policy.tables}


def configuration_text(gateway: str, policy: Policy, scenario: Scenario, key_file: pathlib.Path) -> str:
    """The same as a file, with the array of peers, which toml() does not write and which has to come last."""
    return (f'{toml(configuration(gateway, policy, scenario, key_file))}\n[[peer]]\nname = "far"\n'
            f"prefixes = {toml_value(_PEER_PREFIXES[gateway])}\nkey_file = {toml_value(str(key_file))}\n")


class Agents:
    """A running weftd in gw-a and gw-b. stop() returns their statistics as {"a": ..., "b": ...}."""

    def __init__(self, topology: Topology, policy: Policy, scenario: Scenario, folder: pathlib.Path):
        self._folder = folder
        self._processes: dict[str, Process] = {}
        key_file = folder / "peer.key"
        key_file.touch(mode=0o600)
        key_file.write_text(call(str(PROGRAMS / "weftctl"), "genkey"))
        try:
            for gateway in _PEER_PREFIXES:
                config = folder / f"{gateway}.toml"
                config.write_text(configuration_text(gateway, policy, scenario, key_file))
                agent = Process(
                    topology[gateway],
                    [str(PROGRAMS / "weftd"), "--config", str(config), "--stats", str(self._stats(gateway)),
                     "--fill-log", str(self._fill_log(gateway))],
                    folder / f"{gateway}.log", in_time=True)
                self._processes[gateway] = agent
                agent.wait_log(_RUNNING)
        except BaseException:
            self.kill()
            raise

    def _stats(self, gateway: str) -> pathlib.Path:
        return self._folder / f"{gateway}.json"

    def _fill_log(self, gateway: str) -> pathlib.Path:
        return self._folder / f"{gateway}-fills.jsonl"

    @property
    def fill_log(self) -> pathlib.Path:
        """What was filled on the way to host-b; whole after stop()."""
        return self._fill_log("gw-b")

    def stop(self) -> dict[str, Any]:
        statistics = {}
        for gateway, agent in self._processes.items():
            if agent.poll() is not None or agent.stop() != 0:
                raise LabError(f"the agent in {gateway} failed: {agent.complaint()}")
            statistics[gateway.removeprefix("gw-")] = json.loads(self._stats(gateway).read_text())
        return statistics

    def kill(self) -> None:
        for agent in self._processes.values():
            agent.stop()


def event_count(statistics: Mapping[str, Any], event: str, class_name: str) -> int:
    """One agent's counter of an event and class, over its peers."""
    return sum(peer["events"].get(event, {}).get(class_name, 0) for peer in statistics.get("peers", []))
