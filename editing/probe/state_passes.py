"""Forward passes of several edited states at once, over a tree of tokens.

The layers below the first edited one are computed once for all states. Where that layer is edited
at its MLP's output alone (ROME; the lowest layer of MEMIT), its attention and its keys are shared
too. From there on a pass has a copy of the rows for each state.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from .. import nethook
from ..architectures import Adapter
from ..errors import DeviceMemoryError
from .batching import in_batches
from .linear_updates import Update, Updates, layer_of
from .token_edges import TokenEdges
from .token_tree import TokenTree

PASS_TOKENS = 8192
"""Upper bound of the tokens of a pass: larger ones are not faster, and leave the caches."""

LOGITS = 1 << 22
"""Logits that are computed at a time."""

WHAT = "the likelihood probe of edited states"

ROUNDING = {torch.float64: 1e-9}
ROUNDING_FLOAT32 = 1e-5
"""Largest difference of a packed row's hidden states by rounding, relative to the largest one."""


@dataclass(frozen=True)
class _Below:
    """The activations that all states share, of n rows of T tokens.

    Attributes:
        layer: the first layer whose output differs between states.
        hidden: [n, T, d_model] output of the layer below it; None for layer 0.
        size: elements of the tuple that a layer returns; 0 for a bare tensor.
        attention: [n, T, d_model] output of the layer's attention, and the size of its tuple; None
            where the layer is run as a whole.
        key, value: [n, T, ...] input and output of the MLP's output projection; None as before.
    """

    layer: int
    hidden: Tensor | None
    size: int
    attention: tuple[Tensor, int] | None = None
    key: Tensor | None = None
    value: Tensor | None = None


@torch.no_grad()
def packs(adapter: Adapter, asked: TokenEdges) -> bool:
    """Return True if the model reads packed rows as it reads sequences by themselves.

    Compares two sequences, the longest one and the last one of its row: a model may take no masks
    of four dimensions, or count positions on its own. Three short forward passes.
    """
    tree = asked.tree
    longest = max(range(len(tree.places)), key=lambda i: len(tree.places[i]))
    width = tree.ids.shape[1]
    row = tree.places[longest][0] // width
    last = max((at for at in tree.places if at[0] // width == row), key=lambda at: at[-1])
    rows = torch.tensor([row], device=tree.ids.device)
    try:
        packed = _final(adapter, _inputs(adapter, tree, rows, 1))[0]
        for places in (tree.places[longest], last):
            columns = torch.tensor(places, device=tree.ids.device) - row * width
            alone = _final(adapter, {"input_ids": tree.ids[row, columns][None]})[0]
            most = ROUNDING.get(alone.dtype, ROUNDING_FLOAT32) * alone.abs().max()
            if not (packed[columns] - alone).abs().max() <= most:
                return False
    except (TypeError, ValueError, AttributeError, IndexError, RuntimeError):
        return False  # asked one after the other, an error is raised with its reason
    return True


class StatePasses:
    """Log-probabilities of the edges of a tree, for many states.

    Args:
        limit: maximum tokens of a pass.
    """

    def __init__(self, adapter: Adapter, asked: TokenEdges, limit: int) -> None:
        self._adapter, self._asked = adapter, asked
        self._limit = max(1, min(limit, PASS_TOKENS))

    @torch.no_grad()
    def run(self, states: Sequence[Updates], done: Callable[[float], None]) -> Tensor:
        """[states, E] on the CPU; `done` is called with the number of finished states.

        States that are read together are finished together: of n states, half the rows are n / 2.

        Raises:
            DeviceMemoryError: a single row does not fit.
        """
        asked = self._asked
        out = torch.zeros(len(states), len(asked.edge_end), dtype=torch.float64)
        groups: dict[tuple[int, bool], list[int]] = defaultdict(list)
        for i, updates in enumerate(states):
            groups[self._place(updates)].append(i)
        finished = 0
        n_rows, width = asked.tree.ids.shape
        for (layer, keyed), members in sorted(groups.items()):
            in_batches(
                [width] * n_rows,
                self._limit,
                partial(self._rows, layer, keyed, members, states, out),
                what=WHAT,
                done=partial(_told, done, finished, len(members)),
            )
            finished += len(members)
        return out

    def _place(self, updates: Updates) -> tuple[int, bool]:
        """Return the first edited layer, and True if it is edited at its MLP's output alone."""
        adapter = self._adapter
        layer = min((layer_of(adapter, name) for name in updates), default=adapter.n_layers - 1)
        here = {name for name in updates if layer_of(adapter, name) == layer}
        return layer, here == {adapter.mlp_out(layer).name}

    def _rows(
        self,
        layer: int,
        keyed: bool,
        members: Sequence[int],
        states: Sequence[Updates],
        out: Tensor,
        indices: list[int],
    ) -> None:
        """All states of a group on some rows of the tree."""
        asked, adapter = self._asked, self._adapter
        width, device = asked.tree.ids.shape[1], asked.ends.device
        rows = torch.tensor(sorted(indices), device=device)
        below = _below(adapter, _inputs(adapter, asked.tree, rows, 1), layer, keyed=keyed)
        row_of_end = asked.ends // width
        which = torch.isin(row_of_end, rows).nonzero()[:, 0]
        if not len(which):
            return
        places = torch.searchsorted(rows, row_of_end[which]) * width + asked.ends[which] % width
        edges = torch.isin(asked.edge_end, which).nonzero()[:, 0]
        ends, tokens = torch.searchsorted(which, asked.edge_end[edges]), asked.edge_token[edges]

        def some(chunk: list[int]) -> None:
            inputs = _inputs(adapter, asked.tree, rows, len(chunk))
            own = [states[members[i]] for i in chunk]
            hidden = self._upper(below, own, inputs, places)
            found = _log_p(adapter, hidden, ends, tokens)
            at = torch.tensor([members[i] for i in chunk])[:, None]
            out[at, edges.cpu()] = found.cpu().to(out.dtype)

        cost = len(rows) * width
        try:
            self._limit = in_batches([cost] * len(members), self._limit, some, what=WHAT)
        except DeviceMemoryError as error:
            self._limit = max(1, cost // 2)
            # For the caller, which takes fewer rows and fails where there is one.
            raise MemoryError from error

    def _upper(
        self,
        below: _Below,
        states: Sequence[Updates],
        inputs: dict[str, Tensor],
        places: Tensor,
    ) -> Tensor:
        """Normed final hidden states [states, n, d_model] at n places of the rows, by one pass."""
        adapter, n = self._adapter, len(states)
        names = {name for updates in states for name in updates}
        last, tokens = adapter.n_layers - 1, inputs["input_ids"].numel()
        first = torch.arange(0, tokens, tokens // n, device=places.device)
        wanted = (first[:, None] + places).flatten()
        with ExitStack() as stack:
            if below.hidden is not None:
                lower = [adapter.layer_module(i) for i in range(below.layer)]
                hidden = below.hidden.repeat(n, 1, 1)
                stack.enter_context(nethook.answering(lower, hidden, below.size))
            if below.attention is not None and below.key is not None and below.value is not None:
                out, size = below.attention
                block = [adapter.attention(below.layer)]
                stack.enter_context(nethook.answering(block, out.repeat(n, 1, 1), size))
                name = adapter.mlp_out(below.layer).name
                names.discard(name)
                parts = [_plus(below.value, below.key, updates[name]) for updates in states]
                mlp = [adapter.mlp(below.layer)]
                stack.enter_context(nethook.answering(mlp, torch.cat(parts)))
            if below.layer < last:
                stack.enter_context(nethook.at_places_only(adapter.mlp(last), wanted))
            for name in names:
                own = [updates.get(name, ()) for updates in states]
                module = adapter.model.get_submodule(name)
                stack.enter_context(nethook.adding(module, partial(_additions, own)))
            return _final(adapter, inputs).flatten(0, 1)[wanted].view(n, len(places), -1)


def _told(done: Callable[[float], None], before: int, own: int, rows: int, all_: int) -> None:
    """Tell that a part of the rows of `own` states is finished, after `before` other states."""
    done(before + own * rows / all_)


def _inputs(adapter: Adapter, tree: TokenTree, rows: Tensor, copies: int) -> dict[str, Tensor]:
    parameter = next(adapter.model.parameters())
    config = adapter.model.config.get_text_config()  # type: ignore[union-attr,operator]
    return tree.inputs(config, parameter.dtype, rows, copies)


def _final(adapter: Adapter, inputs: dict[str, Tensor]) -> Tensor:
    """Normed final hidden states of a forward pass, which ends before the head."""
    norm = adapter.final_norm
    with nethook.recording(outputs={"h": norm}, stop_after=norm) as seen:
        nethook.forward(adapter.model, inputs)
    return seen.outputs["h"].to(inputs["input_ids"].device)


def _below(adapter: Adapter, inputs: dict[str, Tensor], layer: int, *, keyed: bool) -> _Below:
    """Run the unedited model up to a layer."""
    projection, last = adapter.mlp_out(layer).module, adapter.layer_module(layer)
    outputs = {"h": adapter.layer_module(layer - 1)} if layer else {}
    outputs |= {"attention": adapter.attention(layer), "mlp": adapter.mlp(layer)}
    outputs |= {"value": projection}
    with nethook.recording(inputs={"key": projection}, outputs=outputs, stop_after=last) as seen:
        nethook.forward(adapter.model, inputs)
    found, sizes = seen.outputs, seen.sizes
    hidden, size = found.get("h"), sizes.get("h", 0)
    # An MLP that does more after its projection is run as a whole.
    if not keyed or sizes["mlp"] or not torch.equal(found["mlp"], found["value"]):
        return _Below(layer, hidden, size)
    attention = (found["attention"], sizes["attention"])
    return _Below(layer, hidden, size, attention, seen.inputs["key"], found["value"])


def _plus(value: Tensor, key: Tensor, updates: Sequence[Update]) -> Tensor:
    """The output of an edited projection, from the unedited one's input and output."""
    flat = key.reshape(-1, key.shape[-1])
    return value + sum(update.of(flat) for update in updates).view_as(value)  # type: ignore[union-attr]


def _additions(states: Sequence[Sequence[Update]], inputs: Tensor) -> Tensor:
    """Return the additions of each state's updates; the rows of a state follow each other."""
    flat = inputs.reshape(len(states), -1, inputs.shape[-1])
    width = next(update.maps[-1].shape[1] for own in states for update in own)
    out = flat.new_zeros(*flat.shape[:2], width)
    for i, own in enumerate(states):
        for update in own:
            out[i] += update.of(flat[i])
    return out.view(*inputs.shape[:-1], width)


def _log_p(adapter: Adapter, hidden: Tensor, ends: Tensor, tokens: Tensor) -> Tensor:
    """Log-probabilities [states, E] of tokens [E] after the hidden states [states, n, d_model].

    Args:
        ends: [E], ascending: index of the hidden state that an edge begins at.
    """
    n_states, n = hidden.shape[:2]
    flat = hidden.flatten(0, 1)
    first = torch.arange(n_states, device=ends.device)[:, None] * n
    at, tokens = (first + ends).flatten(), tokens.repeat(n_states)
    vocabulary = adapter.embeddings.weight.shape[0]  # type: ignore[union-attr,index]
    step = max(1, LOGITS // int(vocabulary))
    out = []
    for start in range(0, len(flat), step):
        logits = adapter.logits(flat[start : start + step])
        wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
        here = (at >= start) & (at < start + step)
        rows = at[here] - start
        out.append(torch.log_softmax(wide, -1)[rows, tokens[here]])
    return torch.cat(out).view(n_states, -1)
