"""weft-wan in the middle of a lab."""

import dataclasses
import json
import pathlib
from typing import Any

from testbed.netns.errors import LabError, VoidRun
from testbed.netns.namespace import Namespace
from testbed.netns.process import Process

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build/release/bin"


@dataclasses.dataclass(frozen=True)
class WanSettings:
    """What a lab's WAN does; the profile's own values hold where one is None."""

    profile: pathlib.Path = ROOT / "netem/profiles/clean.toml"
    rate: str | None = None
    delay: str | None = None
    loss: str | None = None
    burst: float | None = None
    queue: str | None = None
    seed: int | None = None

    def arguments(self) -> list[str]:
        words = ["--profile", str(self.profile)]
        for name in ("rate", "delay", "loss", "burst", "queue", "seed"):
            value = getattr(self, name)
            if value is not None:
                words += [f"--{name}", str(value)]
        return words


def wan_command(settings: WanSettings, folder: pathlib.Path) -> list[str]:
    """weft-wan between a0 and b0, its statistics and its loss log in `folder`."""
    return [str(PROGRAMS / "weft-wan"), "--a", "a0", "--b", "b0", *settings.arguments(),
            "--stats", str(folder / "wan.json"), "--loss-log", str(folder / "losses.jsonl")]


class Wan:
    """A running weft-wan between a0 and b0 of a node. stop() returns its statistics."""

    def __init__(self, node: Namespace, settings: WanSettings, folder: pathlib.Path):
        self._stats = folder / "wan.json"
        self.loss_log = folder / "losses.jsonl"
        self.process = Process(node, wan_command(settings, folder), folder / "wan.log", piped=True)
        self.process.wait_ready()

    def stop(self) -> dict[str, Any]:
        """Ends it. A WAN that lost packets by itself makes the run void."""
        status = self.process.stop()
        if status != 0:
            raise VoidRun(f"weft-wan: {self.process.complaint()}")
        return json.loads(self._stats.read_text())

    def losses(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.loss_log.read_text().splitlines()]
