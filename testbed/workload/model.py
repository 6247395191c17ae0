"""The shape of a decoder-only transformer, read from a Hugging Face config.json."""

import dataclasses
import json
import pathlib


class WorkloadError(Exception):
    """A file of the workload is wrong; the message names it and the key."""


def require(table, key, kinds, where):
    """The value of a key that must be there and of the right type."""
    if key not in table:
        raise WorkloadError(f"{where}: missing key '{key}'")
    value = table[key]
    if not isinstance(value, kinds) or isinstance(value, bool) != (kinds is bool):
        raise WorkloadError(f"{where}: '{key}' is {value!r}, which is not of the expected type")
    return value


@dataclasses.dataclass(frozen=True)
class Model:
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocabulary: int
    tied_embedding: bool

    @property
    def layer_parameters(self) -> int:
        """Attention (Q, K, V, output), gated FFN (up, gate, down) and the two norms of one layer."""
        attention = 2 * self.hidden * self.heads * self.head_dim + 2 * self.hidden * self.kv_heads * self.head_dim
        return attention + 3 * self.hidden * self.ffn + 2 * self.hidden

    @property
    def embedding_parameters(self) -> int:
        return self.vocabulary * self.hidden * (1 if self.tied_embedding else 2)

    @property
    def parameters(self) -> int:
        return self.layers * self.layer_parameters + self.embedding_parameters + self.hidden


def read_model(path: pathlib.Path) -> Model:
    try:
        table = json.loads(path.read_text())
    except (OSError, json.JSONDecodeError) as error:
        raise WorkloadError(f"{path}: {error}") from error
    heads = require(table, "num_attention_heads", int, path)
    hidden = require(table, "hidden_size", int, path)
    model = Model(
        hidden=hidden,
        layers=require(table, "num_hidden_layers", int, path),
        heads=heads,
        kv_heads=table.get("num_key_value_heads", heads),
        head_dim=table.get("head_dim", hidden // max(heads, 1)),
        ffn=require(table, "intermediate_size", int, path),
        vocabulary=require(table, "vocab_size", int, path),
        tied_embedding=table.get("tie_word_embeddings", False),
    )
    for field in dataclasses.fields(model):
        if field.type is int and getattr(model, field.name) <= 0:
            raise WorkloadError(f"{path}: {field.name} must be positive")
    return model
