"""Policy files: testbed/policies/NAME.toml, or any path."""

import dataclasses
import pathlib
import tomllib
from typing import Any

from testbed.netns.errors import UsageError

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "policies"
# The tables in front of which `endpoint` and `agents` stand are the agents' own and are checked by them.
_KEYS = {"agents", "endpoint", "class", "fec", "tags"}
_RECOVERIES = {"gbn"}


@dataclasses.dataclass(frozen=True)
class Policy:
    name: str
    path: pathlib.Path
    agents: bool  # whether agents run in the gateways
    recovery: str  # of the endpoints
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
    if table.get("agents", False):
        raise UsageError(f"{path}: agents are not in this version", "policies with agents = false can be run")
    return Policy(path.stem, path, agents=False, recovery=recovery, lossless=path.stem == "lossless")
