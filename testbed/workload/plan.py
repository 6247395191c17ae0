"""How a model is trained across two datacenters, and how its traffic is scaled to the lab."""

import dataclasses
import pathlib
import tomllib

from testbed.workload.model import WorkloadError, require

LEVELS = 8


@dataclasses.dataclass(frozen=True)
class Plan:
    name: str
    pipeline_stages: int
    micro_batches: int
    micro_batch_size: int
    sequence_length: int
    tensor_parallel: int
    bucket_bytes: int
    high_priority_layers: int
    scale: float
    smallest_message_bytes: int
    dscp: dict[str, int]

    def dscp_of(self, class_name: str, level: int) -> int:
        return self.dscp[class_name] + level

    def dscp_table(self) -> dict[int, str]:
        """DSCP -> "class" or "class:level", as [tags.dscp] of an agent's config wants it."""
        table = {value: name for name, value in self.dscp.items() if name != "pp"}
        table |= {self.dscp["pp"] + level: f"pp:{level}" for level in range(LEVELS)}
        return table


def read_plan(path: pathlib.Path) -> Plan:
    try:
        table = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise WorkloadError(f"{path}: {error}") from error

    def value(section, key, kinds=int):
        return require(require(table, section, dict, path), key, kinds, f"{path} [{section}]")

    plan = Plan(
        name=require(table, "name", str, path),
        pipeline_stages=value("parallel", "pipeline_stages"),
        micro_batches=value("parallel", "micro_batches"),
        micro_batch_size=value("parallel", "micro_batch_size"),
        sequence_length=value("parallel", "sequence_length"),
        tensor_parallel=value("parallel", "tensor_parallel"),
        bucket_bytes=value("data_parallel", "bucket_bytes"),
        high_priority_layers=value("data_parallel", "high_priority_layers"),
        scale=value("lab", "scale", (int, float)),
        smallest_message_bytes=value("lab", "smallest_message_bytes"),
        dscp=dict(require(table, "dscp", dict, path)),
    )
    for name in ("exact", "dp-high", "dp-low", "pp"):
        mark = require(plan.dscp, name, int, f"{path} [dscp]")
        if not 0 <= mark <= (63 - LEVELS + 1 if name == "pp" else 63):
            raise WorkloadError(f"{path} [dscp]: {name} = {mark} is not a DSCP (0 to 63)")
    if not 1 <= plan.pipeline_stages <= LEVELS:
        raise WorkloadError(f"{path} [parallel]: pipeline_stages must be 1 to {LEVELS}")
    if plan.scale < 1 or plan.bucket_bytes < 1 or plan.tensor_parallel < 1 or plan.smallest_message_bytes < 1:
        raise WorkloadError(f"{path}: scale, bucket_bytes, tensor_parallel and smallest_message_bytes must be at least 1")
    return plan
