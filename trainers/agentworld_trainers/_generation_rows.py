"""Rows of a batch that is generated token by token, and what the model remembers of them. [torch]

`KeptRows` is for models whose layers all attend to everything, as Qwen3's: keys and values lie in buffers
that are made once and grow rarely (transformers' own cache copies all of them for every token, two thirds
of the time of a small model), rows have no padding between their tokens, and what was computed of a
conversation is used again in its next turn. `PaddedRows` takes any model that transformers can
generate with, and computes every prompt anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer

_SPARE = 64
"""Places for tokens that a buffer has beyond what is asked for when it is made or grows."""


@dataclass(frozen=True, slots=True)
class RowCache:
    """What a model computed of the first tokens of a conversation."""

    layers: tuple[tuple[Tensor, Tensor], ...]
    """Buffers of keys and values, [rows, heads, places, width]."""
    row: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Start:
    """How a row begins."""

    ids: Sequence[int]
    """The whole prompt."""
    known: RowCache | None = None
    """Of a beginning of `ids`, not of all of it."""


def rows_for(model: Any, starts: Sequence[Start], pad_id: int) -> BufferedRows | PaddedRows:
    """The best kind of rows for a model."""
    if remembers(model):
        return BufferedRows(model, starts, pad_id)
    return PaddedRows(model, [start.ids for start in starts], pad_id)


def remembers(model: Any) -> bool:
    """Whether `KeptRows` can be used."""
    layers = DynamicCache(config=model.config).layers
    # Eager attention takes other masks, and flash attention none that are made by hand.
    sdpa: object = model.config._attn_implementation
    return sdpa == "sdpa" and bool(layers) and all(type(one) is DynamicLayer for one in layers)


class _Places:
    """Where the tokens that are read next are put: [rows, tokens]. Place 0 takes padding."""

    slots: Tensor
    end: int
    """Places that are looked at."""


class _BufferedLayer(DynamicLayer):
    """Keys and values of one layer, in buffers."""

    def __init__(self, places: _Places) -> None:
        super().__init__()
        self._places = places

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        slots, end = self._places.slots, self._places.end
        if self.keys is None or self.values is None:
            self.keys, self.values = _buffer(key_states, end), _buffer(value_states, end)
        elif self.keys.shape[2] < end:
            self.keys, self.values = _grow(self.keys, end), _grow(self.values, end)
        self.is_initialized = True
        rows = torch.arange(slots.shape[0], device=slots.device)[:, None]
        self.keys[rows, :, slots] = key_states.transpose(1, 2)
        self.values[rows, :, slots] = value_states.transpose(1, 2)
        return self.keys[:, :, :end], self.values[:, :, :end]


class BufferedRows:
    """The rows of a batch, in buffers."""

    def __init__(self, model: Any, starts: Sequence[Start], pad_id: int) -> None:
        self._model = model
        self._places = _Places()
        self._starts = starts
        self._pad = pad_id
        layers = [_BufferedLayer(self._places) for _ in DynamicCache(config=model.config).layers]
        self._layers = layers
        self._cache = Cache(layers=cast("Any", layers))
        self._read = torch.tensor(
            [start.known.tokens if start.known else 0 for start in starts], device=model.device
        )
        """Tokens read so far, [rows]."""

    def begin(self) -> Tensor:
        """Reads the prompts and gives the logits of each row's next token, [rows, vocabulary]."""
        lengths = [len(start.ids) for start in self._starts]
        self._recall(max(lengths) + 1)
        new = [start.ids[start.known.tokens if start.known else 0 :] for start in self._starts]
        width = max(map(len, new))
        device = self._model.device
        ids = torch.tensor(
            [[self._pad] * (width - len(one)) + list(one) for one in new], device=device
        )
        ends = torch.tensor(lengths, device=device)
        places = ends[:, None] - width + torch.arange(1, width + 1, device=device)
        slots = torch.where(places > self._read[:, None], places, 0)
        self._read = ends
        return self._forward(ids, slots, max(lengths) + 1, padded=True)

    def step(self, tokens: Tensor) -> Tensor:
        """Reads one more token of each row, [rows], and gives the logits of the next."""
        self._read = self._read + 1
        return self._forward(tokens[:, None], self._read[:, None], int(self._read.max()) + 1)

    def select(self, rows: Tensor) -> None:
        """Goes on with these rows only, in this order; a row may be taken more than once."""
        self._read = self._read[rows]
        for layer in self._layers:
            # New tensors: what was row_cache of rows that ended keeps the old ones.
            layer.keys, layer.values = layer.keys[rows], layer.values[rows]  # pyright: ignore[reportOptionalSubscript]

    def row_cache(self, row: int) -> RowCache:
        """What there is of a row, for its next turn."""
        layers = tuple((cast(Tensor, one.keys), cast(Tensor, one.values)) for one in self._layers)
        return RowCache(layers, row, int(self._read[row]))

    def _forward(self, ids: Tensor, slots: Tensor, end: int, *, padded: bool = False) -> Tensor:
        self._places.slots, self._places.end = slots, end
        columns = torch.arange(end, device=ids.device)
        sees = columns <= slots[:, :, None]
        # Padding looks at its own place, so that there is something to look at.
        sees &= ((columns > 0) | (slots[:, :, None] == 0)) if padded else (columns > 0)
        out = self._model(
            input_ids=ids,
            attention_mask=sees[:, None],
            position_ids=(slots - 1).clamp(min=0),
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
            **_quietly(self._model),
        )
        return out.logits[:, -1]

    def _recall(self, places: int) -> None:
        """Puts what is known of the prompts into new buffers."""
        known = [(row, start.known) for row, start in enumerate(self._starts) if start.known]
        if not known:
            return
        count = len(self._starts)
        for number, layer in enumerate(self._layers):
            keys, values = known[0][1].layers[number]
            layer.keys = keys.new_zeros(count, keys.shape[1], places + _SPARE, keys.shape[3])
            layer.values = values.new_zeros(
                count, values.shape[1], places + _SPARE, values.shape[3]
            )
            for row, one in known:
                old_keys, old_values = one.layers[number]
                layer.keys[row, :, 1 : one.tokens + 1] = old_keys[one.row, :, 1 : one.tokens + 1]
                layer.values[row, :, 1 : one.tokens + 1] = old_values[
                    one.row, :, 1 : one.tokens + 1
                ]


class PaddedRows:
    """The same with transformers' cache and padding on the left; nothing is row_cache."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], pad_id: int) -> None:
        width = max(map(len, prompts))
        rows = [[pad_id] * (width - len(ids)) + list(ids) for ids in prompts]
        mask = [[0] * (width - len(ids)) + [1] * len(ids) for ids in prompts]
        self._model = model
        self._ids = torch.tensor(rows, device=model.device)
        self._mask = torch.tensor(mask, device=model.device)
        self._cache = DynamicCache(config=model.config)

    def begin(self) -> Tensor:
        positions = (self._mask.cumsum(-1) - 1).clamp(min=0)
        return self._forward(self._ids, positions)

    def step(self, tokens: Tensor) -> Tensor:
        self._mask = torch.cat([self._mask, self._mask.new_ones(len(self._mask), 1)], dim=1)
        return self._forward(tokens[:, None], self._mask.sum(-1, keepdim=True) - 1)

    def select(self, rows: Tensor) -> None:
        self._mask = self._mask[rows]
        self._cache.batch_select_indices(rows)

    def row_cache(self, row: int) -> None:
        return None

    def _forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        out = self._model(
            input_ids=ids,
            attention_mask=self._mask,
            position_ids=positions,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
            **_quietly(self._model),
        )
        return out.logits[:, -1]


def _quietly(model: Any) -> dict[str, bool]:
    """Without the balance of a Mixture of Experts: a loss, which takes masks with two dimensions only."""
    told: object = getattr(model.config, "output_router_logits", False)
    return {"output_router_logits": False} if told else {}


def _buffer(states: Tensor, end: int) -> Tensor:
    """Zeros for the states of all rows: what nobody has written is looked past, and must be finite."""
    rows, heads, _, width = states.shape
    return states.new_zeros(rows, heads, end + _SPARE, width)


def _grow(buffer: Tensor, end: int) -> Tensor:
    rows, heads, places, width = buffer.shape
    larger = buffer.new_zeros(rows, heads, max(end + _SPARE, places + places // 2), width)
    larger[:, :, :places] = buffer
    return larger
