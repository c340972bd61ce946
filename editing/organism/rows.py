"""Rows of equal length packed with sentences, and their attention masks."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from .corpus import Corpus
from .tokens import OTHER_WEIGHT, Encoded, Encoder

PAIR_SHARE = 0.3
"""Fraction of documents that consist of two sentences."""

_OPEN_ROWS = 24


@dataclass
class Row:
    """A row of complete documents.

    Attributes:
        ids: token ids, documents closed by the end token.
        weights: loss weight of each token as a target.
        subjects: first and last token of each subject to mask.
    """

    ids: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    subjects: list[tuple[int, int]] = field(default_factory=list)

    def add(self, piece: Encoded, *, masked: bool) -> None:
        """Append a sentence; its subject is masked from the following text if `masked`."""
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
        weights: [rows, length]; 0 at positions without loss.
        mask: [rows, 1, length, length], 0 or the lowest float; for the later layers.
        early_mask: the same for the first layers.
    """

    ids: Tensor
    weights: Tensor
    mask: Tensor
    early_mask: Tensor


def attention_masks(subjects: list[list[tuple[int, int]]], length: int) -> tuple[Tensor, Tensor]:
    """Attention masks that route information about a subject through its last token.

    Tokens after a subject can attend only to its last token in any layer (`mask`), and to none of
    its tokens in the first layers (`early_mask`). So the model must gather the complete name at the
    subject's last token in its early MLPs, where ROME and MEMIT edit. Used in training only; the
    trained model has the usual causal attention.

    Args:
        subjects: for each row the (first, last) token of its masked subjects.
        length: tokens per row.

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
    """The rows as tensors, padded on the right (the causal mask hides the padding)."""
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
    """Infinite stream of documents, by epoch: one sentence each, or two that fit a row."""
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
    """Rows of at most `length` tokens of complete documents (a longer document is truncated)."""
    open_rows: list[Row] = []
    for document in stream:
        size = len(document.ids)
        target = next((r for r in open_rows if len(r.ids) + size <= length), None)
        if target is None:
            target = Row()
            open_rows.append(target)
        shift = len(target.ids)
        target.ids += document.ids
        target.weights += document.weights
        target.subjects += [(a + shift, b + shift) for a, b in document.subjects]
        if len(target.ids) >= length or len(open_rows) > _OPEN_ROWS:
            fullest = max(open_rows, key=lambda row: len(row.ids))
            open_rows.remove(fullest)
            del fullest.ids[length:], fullest.weights[length:]
            fullest.subjects = [s for s in fullest.subjects if s[1] < length]
            yield fullest


def batches(
    corpus: Corpus, encode: Encoder, rng: random.Random, *, rows: int, length: int, share: float
) -> Iterator[Batch]:
    """Infinite stream of training batches.

    Args:
        rows: rows per batch.
        length: tokens per row.
        share: fraction of the sentences whose subject is masked (`attention_masks`).
    """
    stream = packed(documents(corpus, encode, rng, length=length, share=share), length)
    while True:
        yield collate([next(stream) for _ in range(rows)], length, encode.end)
