"""Prompts with their answers as token rows: log-probabilities and activations under given weights.

The facts to forget are rewrite requests with their present object `target_true`; the facts to
retain are pairs of a complete prompt and its answer. Both are tokenised as a probe does it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from .. import nethook
from ..answer_tokens import answer_ids, text_ids
from ..architectures import Adapter
from ..errors import EditFailedError, RequestError
from ..joint import parted
from ..key_value.tokens import prompt_row, target_ids
from ..padding import Padded, pad
from .weights import called

REMEDY = "Lower lr, set norm_constraint, or load the model in float32."


@dataclass(frozen=True)
class Texts:
    """n prompts with their answers.

    Attributes:
        names: of each, for errors: `request 'harry-potter--...'`.
        batch: prompt and answer of each as one row [n, length], padded on the right.
        answers: [n, length], True on the tokens of the answer.
    """

    names: tuple[str, ...]
    batch: Padded
    answers: Tensor

    def __len__(self) -> int:
        return len(self.names)

    def log_p(self, adapter: Adapter, weights: Mapping[str, Tensor]) -> Tensor:
        """Log π(answer | prompt) of each, the sum over the answer's tokens, float32 [n].

        Raises:
            EditFailedError: one is NaN or infinite; names the first.
        """
        head = adapter.lm_head
        with nethook.recording(inputs={"end": head}, stop_before=head) as seen:
            self._forward(adapter, weights)
        row, place = self.answers.nonzero(as_tuple=True)
        logits = adapter.logits(nethook.at(seen.inputs["end"], row, place - 1))
        token = self.batch.input_ids[row, place]
        picked = logits.float().log_softmax(-1).gather(1, token[:, None]).squeeze(1)
        return self._finite(
            torch.zeros(len(self), device=picked.device).index_add(0, row, picked),
            "the loss of its answer",
        )

    def activations(self, adapter: Adapter, weights: Mapping[str, Tensor], layer: int) -> Tensor:
        """Output of a layer at every token, padding included, float32 [n, length, d_model].

        Raises:
            EditFailedError: one is NaN or infinite; names the first text.
        """
        module = adapter.layer_module(layer)
        with nethook.recording(outputs={"h": module}, stop_after=module) as seen:
            self._forward(adapter, weights)
        found = seen.outputs["h"].to(self.answers.device).float()
        self._finite(self.mean_of(found.detach().square().mean(-1)), f"the output of layer {layer}")
        return found

    def mean_of(self, values: Tensor) -> Tensor:
        """The mean of values [n, length] over the tokens of each text, without padding: [n]."""
        real = self.batch.attention_mask.bool()
        return torch.where(real, values, 0.0).sum(1) / self.batch.lengths

    def chosen(self, numbers: Sequence[int]) -> Texts:
        """Some of the texts, in this order."""
        at = torch.tensor(numbers, device=self.answers.device)
        width = int(self.batch.lengths[at].max())
        parts = (
            self.batch.input_ids[at, :width],
            self.batch.attention_mask[at, :width],
            self.batch.position_ids[at, :width],
            self.batch.lengths[at],
        )
        names = tuple(self.names[number] for number in numbers)
        return Texts(names, Padded(*parts), self.answers[at, :width])

    def batches(self, size: int, seed: int) -> Iterator[tuple[list[int], Texts]]:
        """Batches without end, with the numbers of their texts.

        The texts are shuffled by seed before each pass; the last batch of a pass may be smaller.
        """
        draw = torch.Generator().manual_seed(seed)
        while True:
            order = torch.randperm(len(self), generator=draw).tolist()
            for start in range(0, len(order), size):
                numbers = order[start : start + size]
                yield numbers, self.chosen(numbers)

    def _forward(self, adapter: Adapter, weights: Mapping[str, Tensor]) -> None:
        called(adapter.model, weights, {**self.batch.inputs(), "use_cache": False})

    def _finite(self, values: Tensor, what: str) -> Tensor:
        for name, value in zip(self.names, values.detach().tolist(), strict=True):
            if value - value != 0:  # NaN or infinite
                raise EditFailedError(f"{name}: {what} became NaN or infinite", remedy=REMEDY)
        return values


def to_forget(adapter: Adapter, tokenizer: Any, requests: Sequence[RewriteRequest]) -> Texts:
    """The prompt of each request with its target_true."""
    rows = [
        (prompt_row(tokenizer, each).ids, target_ids(tokenizer, each, "target_true"))
        for each in requests
    ]
    return as_texts(adapter.model, tokenizer, [f"request '{each.id}'" for each in requests], rows)


def to_retain(adapter: Adapter, tokenizer: Any, state: Any) -> Texts:
    """The pairs of prompt and answer of `state["retain"]`.

    Raises:
        RequestError: there is none, or one is empty or no pair of texts.
    """
    pairs = state.get("retain") if isinstance(state, Mapping) else None
    if not pairs:
        raise RequestError(
            "there is no fact to retain",
            remedy='Pass state={"retain": [(prompt, answer), ...]} with one or more facts.',
        )
    rows, names = [], []
    for number, pair in enumerate(pairs):
        texts = [text.strip() for text in pair if isinstance(text, str)]
        if len(texts) != 2 or len(pair) != 2 or not all(texts):
            raise RequestError(
                f"text {number} to retain is no prompt with an answer: {pair!r}",
                remedy="Each is a pair of texts that are not empty.",
            )
        (prompt, lead), answer = parted(pair[0].lstrip()), texts[1]
        ids = text_ids(tokenizer, prompt)
        target = answer_ids(tokenizer, prompt, ids, answer, lead=lead)
        if not ids or set(target) <= {tokenizer.unk_token_id}:
            raise RequestError(
                f"text {number} to retain: the tokenizer maps {pair!r} to nothing",
                remedy="Write it in characters that the model's tokenizer knows.",
            )
        rows.append((ids, target))
        names.append(f"the text to retain '{prompt} {answer}'")
    return as_texts(adapter.model, tokenizer, names, rows)


def as_texts(
    model: nn.Module,
    tokenizer: Any,
    names: Sequence[str],
    rows: Sequence[tuple[Sequence[int], Sequence[int]]],
) -> Texts:
    """Texts of tokens, on the model's device.

    Args:
        rows: tokens of the prompt, then of the answer, of each.
    """
    device = next(model.parameters()).device
    whole = [(*prompt, *answer) for prompt, answer in rows]
    batch = pad(whole, tokenizer.pad_token_id or 0, "right", device)
    answers = torch.zeros_like(batch.input_ids, dtype=torch.bool)
    for i, (prompt, answer) in enumerate(rows):
        answers[i, len(prompt) : len(prompt) + len(answer)] = True
    return Texts(tuple(names), batch, answers)
