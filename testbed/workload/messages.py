"""The messages one training step sends across the WAN in one direction.

Pipeline: each micro-batch's activations cross once per stage boundary, 2 x micro_batch x sequence x hidden bytes (bf16),
divided by the tensor-parallel degree under sequence parallelism. The level is the stage that sends: earlier stages feed
all later ones. Data parallel: reduce-scatter of 4 bytes per parameter (fp32 gradients), tolerable when of low priority,
then all-gather of 2 bytes per parameter (bf16), which must be exact: a replica that misses some stays inconsistent.
"""

import dataclasses
import random
from typing import Iterator

from testbed.workload.model import Model
from testbed.workload.plan import Plan

GRADIENT_BYTES = 4
PARAMETER_BYTES = 2
ACTIVATION_BYTES = 2


@dataclasses.dataclass(frozen=True)
class Message:
    bytes: int
    class_name: str
    level: int
    layer: int  # 0: none
    dscp: int


def _buckets(total_bytes: int, bucket_bytes: int) -> Iterator[int]:
    full, rest = divmod(total_bytes, bucket_bytes)
    yield from [bucket_bytes] * full
    if rest:
        yield rest


class _Step:
    def __init__(self, model: Model, plan: Plan):
        self.model = model
        self.plan = plan

    def message(self, size: int, class_name: str, level: int = 0, layer: int = 0) -> Message:
        scaled = max(self.plan.smallest_message_bytes, round(size / self.plan.scale))
        return Message(scaled, class_name, level, layer, self.plan.dscp_of(class_name, level))

    def pipeline(self) -> Iterator[Message]:
        plan = self.plan
        size = ACTIVATION_BYTES * plan.micro_batch_size * plan.sequence_length * self.model.hidden
        for _ in range(plan.micro_batches):
            for stage in range(plan.pipeline_stages):
                yield self.message(size // plan.tensor_parallel, "pp", level=stage)

    def gradients(self) -> Iterator[Message]:
        """Buckets in the order backpropagation produces them: last layer first, the embedding last."""
        plan = self.plan
        for layer in range(self.model.layers, 0, -1):
            class_name = "dp-high" if layer <= plan.high_priority_layers else "dp-low"
            for size in _buckets(GRADIENT_BYTES * self.model.layer_parameters, plan.bucket_bytes):
                yield self.message(size, class_name, layer=layer)
        for size in _buckets(GRADIENT_BYTES * self.model.embedding_parameters, plan.bucket_bytes):
            yield self.message(size, "dp-high")

    def parameters(self) -> Iterator[Message]:
        for size in _buckets(PARAMETER_BYTES * self.model.parameters, self.plan.bucket_bytes):
            yield self.message(size, "exact")


def training_step(model: Model, plan: Plan) -> list[Message]:
    """All messages of one step, in the order they are sent."""
    step = _Step(model, plan)
    return [*step.pipeline(), *step.gradients(), *step.parameters()]


def sample(messages: list[Message], count: int, seed: int) -> list[Message]:
    """`count` messages with the step's mix of kinds: a stratified draw that keeps each (class, level)'s share of messages.

    A lab run cannot afford the whole step of a real model; the largest remainders are rounded up, so that every kind
    that would get at least half a message gets one.
    """
    groups: dict[tuple[str, int], list[Message]] = {}
    for message in messages:
        groups.setdefault((message.class_name, message.level), []).append(message)
    exact = {kind: count * len(members) / len(messages) for kind, members in groups.items()}
    take = {kind: int(share) for kind, share in exact.items()}
    by_remainder = sorted(exact, key=lambda kind: (take[kind] - exact[kind], kind))
    for kind in by_remainder[: count - sum(take.values())]:
        take[kind] += 1
    draw = random.Random(seed)
    chosen = [draw.choice(groups[kind]) for kind, number in sorted(take.items()) for _ in range(number)]
    draw.shuffle(chosen)
    return chosen
