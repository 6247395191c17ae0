"""The messages of a run, when they are those of a training step: a sample of a workload, drawn by the seed."""

import dataclasses
import functools
import json
import pathlib

from testbed.netns.errors import UsageError
from testbed.workload.messages import Message, sample, training_step
from testbed.workload.model import WorkloadError, read_model
from testbed.workload.plan import Plan, read_plan

_FOLDER = pathlib.Path(__file__).resolve().parents[1] / "workload"
# What `--workload` knows by name; anything else is a folder with a config.json and a plan.toml.
NAMED = {"training": _FOLDER / "qwen3-3b"}


@dataclasses.dataclass(frozen=True)
class Traffic:
    plan: Plan
    messages: tuple[Message, ...]

    def json_lines(self) -> str:
        """As weft-roce takes them."""
        return "".join(json.dumps({"bytes": message.bytes, "class": message.class_name, "dscp": message.dscp,
                                   "level": message.level, "layer": message.layer}) + "\n"
                       for message in self.messages)

    def dscp_tags(self) -> dict[str, str]:
        """[tags.dscp] for agents that shall know these messages by their marks."""
        return {str(dscp): tag for dscp, tag in self.plan.dscp_table().items()}


@functools.lru_cache
def load(name_or_folder: str, count: int, seed: int) -> Traffic:
    folder = NAMED.get(name_or_folder, pathlib.Path(name_or_folder))
    try:
        plan = read_plan(folder / "plan.toml")
        step = training_step(read_model(folder / "config.json"), plan)
    except WorkloadError as error:
        raise UsageError(f"--workload {name_or_folder}: {error}",
                         f"{', '.join(NAMED)}, or a folder with a config.json and a plan.toml") from None
    return Traffic(plan, tuple(sample(step, count, seed)))
