"""Texts sampled from the unedited model, and how far an edit changes the predictions on them.

The KL divergence of a token is Σ_v p(v) (ln p(v) − ln q(v)) over the whole vocabulary, with p of
the unedited and q of the edited model at the same position of the same text. Both models read texts
of the unedited one, so that a change anywhere in the language counts, not at asked facts alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock
from torch import Tensor

from ...loaders.records import digest
from .. import nethook
from ..architectures import Adapter, adapter_for
from ..atomic_write import whole_file
from ..deltas import EditEffect, applied
from ..errors import ProbeError
from ..evaluation_mode import evaluating
from ..linear_algebra import in_float64, linear_algebra_device
from ..models import LoadedModel
from .batching import in_batches, room_for
from .decoding import Continuation, position_limit
from .sampled import LOGITS, UNDRAWN, draw

TEXTS, LENGTH = 64, 128
"""Number of texts of a model, and their length in tokens."""
SEED = 0
A_DIMENSION = 4
"""Tokens a dimension of the keys of a covariance that is collected from own texts."""
DOCUMENT_END = "<|endoftext|>"
_NUMBERS = 2**22
"""Logits of one model that are in memory at a time."""


@dataclass(frozen=True, slots=True)
class OwnSamples:
    """Texts that a model wrote, as token ids.

    Attributes:
        start: the tokens that each text follows, such as `<|endoftext|>`; not part of the texts.
        texts: of equal length.
    """

    start: tuple[int, ...]
    texts: tuple[tuple[int, ...], ...]

    @property
    def digest(self) -> str:
        """Of the tokens: equal for equal texts."""
        return digest([self.start, self.texts])

    def beginnings(self, length: int) -> OwnSamples:
        """Return the first tokens of each text: the texts that a shorter sampling draws."""
        return OwnSamples(self.start, tuple(text[:length] for text in self.texts))


@dataclass(frozen=True, slots=True)
class TextChange:
    """The change of one text's predictions: means over its tokens.

    Attributes:
        kl: KL divergence of the edited model's prediction from the unedited one's.
        nll: difference of −ln P(token), after minus before.
    """

    kl: float
    nll: float


def key_of(loaded: LoadedModel, block: int = 0) -> str:
    """Return the digest that identifies a block of a model's texts, without drawing them."""
    return digest([loaded.info.digest, loaded.info.dtype, SEED + block, TEXTS, LENGTH])


def blocks_for(loaded: LoadedModel, dimensions: int) -> int:
    """Return how many blocks of `TEXTS` texts have `A_DIMENSION` tokens a dimension; 1 at least."""
    tokens = TEXTS * length_of(loaded, LENGTH)
    return max(1, -(-A_DIMENSION * dimensions // tokens))


def length_of(loaded: LoadedModel, length: int) -> int:
    """Return the length of a text, limited by the model's number of positions."""
    limit = position_limit(loaded.model)
    return min(length, limit - len(start_of(loaded.tokenizer))) if limit else length


def stored_samples(
    loaded: LoadedModel,
    folder: Path,
    done: Callable[[int, int], None] | None = None,
    block: int = 0,
) -> OwnSamples:
    """The texts of an unedited model, sampled once and kept under the digest of its identity.

    Args:
        loaded: without an edit.
        done: called with the numbers of sampled and of all tokens.
        block: number of a block of `TEXTS` texts; each has a seed of its own.
    """
    path = folder / f"{key_of(loaded, block)}.json"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        if (kept := read(path)) is not None:
            return kept
        found = sample(loaded, seed=SEED + block, done=done)
        about = {"start": found.start, "texts": found.texts}
        with whole_file(path) as out:
            out.write_text(json.dumps(about | {"digest": digest(about)}))
    return found


def read(path: Path) -> OwnSamples | None:
    """The texts of a file; None if it is missing or damaged: they are sampled again.

    The first files had no digest.
    """
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        kept = json.loads(path.read_bytes())
        about = {"start": kept["start"], "texts": kept["texts"]}
        if kept.get("digest") in (None, digest(about)):
            return OwnSamples(tuple(kept["start"]), tuple(map(tuple, kept["texts"])))
    return None


@torch.no_grad()
def sample(
    loaded: LoadedModel,
    *,
    texts: int = TEXTS,
    length: int = LENGTH,
    seed: int = SEED,
    batch_tokens: int | None = None,
    done: Callable[[int, int], None] | None = None,
) -> OwnSamples:
    """Sample texts at temperature 1 from the whole vocabulary; an end token does not end a text.

    The global random state is unchanged. `length` is limited by the model's number of positions.

    Args:
        batch_tokens: maximum tokens of a batch, by default as many as fit; does not change texts.
        done: called with the numbers of sampled and of all tokens.
    """
    start = start_of(loaded.tokenizer)
    length = length_of(loaded, length)
    generator = torch.Generator().manual_seed(seed)
    # By place: a shorter sampling draws the beginnings of the same texts.
    numbers = [torch.rand(texts, generator=generator, dtype=torch.float64) for _ in range(length)]
    found: dict[int, Tensor] = {}

    def work(indices: list[int]) -> None:
        rows = Continuation(loaded.model, [start] * len(indices), loaded.tokenizer.pad_token_id)
        tokens: list[Tensor] = []
        for place, drawn in enumerate(numbers):
            if tokens:
                chosen = tokens[-1].to(rows.device)
                rows.feed(chosen, torch.ones_like(chosen))
            token = draw(rows.logits.float().softmax(-1), drawn[indices]).cpu()
            if (token == UNDRAWN).any():
                raise ProbeError("the model gives NaN or infinite logits for its own texts")
            tokens.append(token[:, None])
            if done is not None:
                done(len(found) * length + (place + 1) * len(indices), texts * length)
        found.update(zip(indices, torch.cat(tokens, 1), strict=True))

    room = room_for(loaded.model, batch_tokens, growing=True)
    costs = [room.cost(len(start) + length, LOGITS)] * texts
    with evaluating(loaded.model):
        in_batches(costs, room.tokens, work, what="the model's own texts")
    return OwnSamples(tuple(start), tuple(tuple(found[i].tolist()) for i in range(texts)))


def start_of(tokenizer: Any) -> list[int]:
    """The tokens in front of a plain text; without any the token that ends documents.

    A chat model's configured BOS may be a token of its template, so it is the last choice.
    """
    text = "The mother"
    whole, bare = (
        tokenizer(text, add_special_tokens=special)["input_ids"] for special in (True, False)
    )
    if len(whole) > len(bare) and whole[0] != bare[0]:
        return list(whole[: whole.index(bare[0])])
    vocabulary = tokenizer.get_vocab()
    names = (DOCUMENT_END, tokenizer.eos_token, tokenizer.bos_token, tokenizer.pad_token)
    return [next(vocabulary[name] for name in names if name in vocabulary)]


@torch.no_grad()
def hidden(loaded: LoadedModel, samples: OwnSamples) -> Tensor:
    """Normed final hidden states at the positions that predict a text's tokens, [n, length, d]."""
    adapter = adapter_for(loaded.model)
    ids = torch.tensor([[*samples.start, *text[:-1]] for text in samples.texts])
    ids = ids.to(loaded.device)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    head = adapter.lm_head
    with (
        evaluating(loaded.model),
        nethook.recording(inputs={"end": head}, stop_before=head) as seen,
    ):
        nethook.forward(loaded.model, inputs)
    return seen.inputs["end"][:, len(samples.start) - 1 :]


@torch.no_grad()
def changes(
    loaded: LoadedModel, effect: EditEffect, samples: OwnSamples, before: Tensor
) -> list[TextChange]:
    """Compare the edited model with the unedited one on each text.

    Args:
        loaded: the unedited model; unchanged on return.
        effect: a change of weights.
        before: `hidden` of the unedited model on these texts.

    Raises:
        EditingError: the effect does not fit the model.
    """
    with applied(loaded.model, effect):
        after = hidden(loaded, samples)
    adapter = adapter_for(loaded.model)
    edited = _edited_head(adapter, effect)
    targets = torch.tensor(samples.texts, device=after.device).flatten()
    sides = before.flatten(0, 1), after.flatten(0, 1)
    step = max(1, _NUMBERS // adapter.model.get_input_embeddings().weight.shape[0])  # type: ignore[operator]
    found = []
    for at in range(0, len(targets), step):
        log_p = adapter.logits(sides[0][at : at + step]).float().log_softmax(-1)
        log_q = edited(sides[1][at : at + step]).float().log_softmax(-1)
        own = targets[at : at + step, None]
        nll = log_p.gather(1, own) - log_q.gather(1, own)
        kl = log_q.neg_().add_(log_p).mul_(log_p.exp_()).sum(-1)
        found.append(in_float64(torch.stack([kl, nll[:, 0]], 1)).cpu())
    means = torch.cat(found).view(len(samples.texts), -1, 2).mean(1)
    return [TextChange(kl, nll) for kl, nll in means.tolist()]


def update_norm(model: Any, effect: EditEffect) -> float | None:
    """‖ΔW‖ / ‖W‖, Frobenius norms of all changed parameters together; None where none is changed.

    Args:
        model: the unedited model.
    """
    squares = _squares(model, effect).values()
    changed, whole = (sum(pair[side] for pair in squares) for side in (0, 1))
    return (changed / whole) ** 0.5 if whole else None


def update_norms(model: Any, effect: EditEffect) -> dict[str, float]:
    """{name: ‖ΔW‖ / ‖W‖} of each changed parameter, as `update_norm`."""
    squares = _squares(model, effect)
    return {name: (new / old) ** 0.5 for name, (new, old) in squares.items() if old}


def _squares(model: Any, effect: EditEffect) -> dict[str, tuple[float, float]]:
    """{name: (‖ΔW‖², ‖W‖²)} of each changed parameter."""
    parameters: Mapping[str, Tensor] = dict(model.named_parameters(remove_duplicate=False))
    return {n: (_square(d), _square(parameters[n])) for n, d in effect.deltas.items()}


def _square(values: Tensor) -> float:
    here = values.detach().to(linear_algebra_device(values.device))
    return float(torch.linalg.vector_norm(here, dtype=torch.float64)) ** 2


def _edited_head(adapter: Adapter, effect: EditEffect) -> Callable[[Tensor], Tensor]:
    """The edited model's map from hidden states to logits; an edit may change the head too."""
    model: Any = adapter.model
    own = {id(parameter): name for name, parameter in adapter.lm_head.named_parameters()}
    new = {
        own[id(parameter)]: parameter + effect.deltas[name].to(parameter)
        for name, parameter in model.named_parameters(remove_duplicate=False)
        if name in effect.deltas and id(parameter) in own
    }
    if not new:
        return adapter.logits

    def logits(states: Tensor) -> Tensor:
        out = torch.func.functional_call(adapter.lm_head, new, (states,))
        return adapter.layout.logits(model.config.get_text_config(), out).to(states.device)

    return logits
