"""Sentences packed into rows of equal length, and the attention masks that go with them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from thinkeval.editing.organism.corpus import Corpus
from thinkeval.editing.organism.tokens import OTHER_WEIGHT, Encoded, Encoder

PAIR_SHARE = 0.3
"""Share of documents that consist of two sentences."""

_OPEN_ROWS = 24


@dataclass
class Row:
    """Whole documents side by side.

    Attributes:
        ids: token ids, documents closed by the end token.
        weights: loss weight of each token as a target.
        subjects: first and last token of each subject that is to be masked.
    """

    ids: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    subjects: list[tuple[int, int]] = field(default_factory=list)

    def add(self, piece: Encoded, *, masked: bool) -> None:
        """Append a sentence; its subject is masked from what follows if `masked`."""
        if masked and piece.subject:
            self.subjects.append(
                (len(self.ids) + piece.subject[0], len(self.ids) + piece.subject[1])
            )
        self.ids += piece.ids
        self.weights += piece.weights


@dataclass(frozen=True, slots=True)
class Batch:
    """Tensors of one training step.

    Attributes:
        ids: [rows, length].
        weights: [rows, length]; 0 where nothing is to be predicted.
        mask: [rows, 1, length, length], 0 or -inf-like; for the later layers.
        early_mask: the same for the first layers.
    """

    ids: Tensor
    weights: Tensor
    mask: Tensor
    early_mask: Tensor


def attention_masks(subjects: list[list[tuple[int, int]]], length: int) -> tuple[Tensor, Tensor]:
    """The bottleneck: what comes after a subject reads it through its last token only.

    Tokens after a subject may not attend to its tokens but the last in any layer (`mask`),
    and to none of them in the first layers (`early_mask`). So the model has to gather the whole
    name at the subject's last token in its early MLPs, where ROME and MEMIT edit. Imposed in
    training only; the trained model attends as any model does.

    Args:
        subjects: for each row the (first, last) token of its masked subjects.
        length: tokens a row.

    Returns:
        mask, early_mask: [rows, 1, length, length], added to the attention scores.
    """
    hidden = torch.finfo(torch.float32).min
    causal = torch.full((length, length), hidden).triu(1)
    mask = causal.repeat(len(subjects), 1, 1, 1)
    early = mask.clone()
    for row, spans in enumerate(subjects):
        for first, last in spans:
            mask[row, 0, last + 1 :, first:last] = hidden
            early[row, 0, last + 1 :, first : last + 1] = hidden
    return mask, early


def collate(rows: list[Row], length: int, pad: int) -> Batch:
    """The rows as tensors, padded at the right (the causal mask keeps padding out of sight)."""
    ids = torch.full((len(rows), length), pad)
    weights = torch.zeros(len(rows), length)
    for i, row in enumerate(rows):
        ids[i, : len(row.ids)] = torch.tensor(row.ids)
        weights[i, : len(row.weights)] = torch.tensor(row.weights)
    mask, early = attention_masks([row.subjects for row in rows], length)
    return Batch(ids, weights, mask, early)


def documents(
    corpus: Corpus, encode: Encoder, rng: random.Random, *, length: int, share: float
) -> Iterator[Row]:
    """Documents without end: epoch after epoch, one sentence each, or two that fit a row."""
    while True:
        sentences = corpus.epoch(rng)
        while sentences:
            document = Row()
            document.add(encode(sentences.pop()), masked=rng.random() < share)
            if sentences and rng.random() < PAIR_SHARE:
                piece = encode(sentences[-1], after_another=True)
                if len(document.ids) + len(piece.ids) < length:
                    sentences.pop()
                    document.add(piece, masked=rng.random() < share)
            document.ids.append(encode.end)
            document.weights.append(OTHER_WEIGHT)
            yield document


def packed(stream: Iterator[Row], length: int) -> Iterator[Row]:
    """Rows of at most `length` tokens holding whole documents (an over-long one is cut)."""
    waiting: list[Row] = []
    for document in stream:
        size = len(document.ids)
        home = next((r for r in waiting if len(r.ids) + size <= length), None)
        if home is None:
            home = Row()
            waiting.append(home)
        shift = len(home.ids)
        home.ids += document.ids
        home.weights += document.weights
        home.subjects += [(a + shift, b + shift) for a, b in document.subjects]
        if len(home.ids) >= length or len(waiting) > _OPEN_ROWS:
            fullest = max(waiting, key=lambda row: len(row.ids))
            waiting.remove(fullest)
            del fullest.ids[length:], fullest.weights[length:]
            fullest.subjects = [s for s in fullest.subjects if s[1] < length]
            yield fullest


def batches(
    corpus: Corpus, encode: Encoder, rng: random.Random, *, rows: int, length: int, share: float
) -> Iterator[Batch]:
    """Training batches without end.

    Args:
        rows: rows a batch.
        length: tokens a row.
        share: share of the sentences whose subject is masked (`attention_masks`).
    """
    stream = packed(documents(corpus, encode, rng, length=length, share=share), length)
    while True:
        yield collate([next(stream) for _ in range(rows)], length, encode.end)
