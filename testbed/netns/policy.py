"""Policy files: testbed/policies/NAME.toml, or any path."""

import dataclasses
import pathlib
import tomllib
from typing import Any

from testbed.netns.errors import UsageError

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "policies"
# What is in these is the agents' own, and checked by them.
_AGENT_TABLES = {"class", "fec", "tags"}
_KEYS = {"agents", "endpoint"} | _AGENT_TABLES
_RECOVERIES = {"gbn"}


@dataclasses.dataclass(frozen=True)
class Policy:
    name: str
    path: pathlib.Path
    agents: bool  # whether agents run in the gateways
    recovery: str  # of the endpoints
    tables: dict[str, Any]  # [class], [fec] and [tags], for the agents
    # Whether the WAN may lose anything; the bound is the run in which it does not.
    lossless: bool


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load(name_or_path: str) -> Policy:
    path = pathlib.Path(name_or_path) if name_or_path.endswith(".toml") else FOLDER / f"{name_or_path}.toml"
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text())
    except FileNotFoundError:
        raise UsageError(f"no policy '{name_or_path}'", f"there are {', '.join(names())}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}") from None
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise UsageError(f"{path}: unknown key '{unknown[0]}'", f"known here: {', '.join(sorted(_KEYS))}")
    recovery = table.get("endpoint", {}).get("recovery", "gbn")
    if recovery not in _RECOVERIES:
        raise UsageError(f"{path}: endpoint recovery '{recovery}' is not in this version",
                         f"there is {', '.join(sorted(_RECOVERIES))}")
    agents = table.get("agents", True)
    if not isinstance(agents, bool):
        raise UsageError(f"{path}: 'agents' must be true or false")
    tables = {key: value for key, value in table.items() if key in _AGENT_TABLES}
    return Policy(path.stem, path, agents, recovery, tables, lossless=path.stem == "lossless")
