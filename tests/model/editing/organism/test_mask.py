"""The bottleneck mask of the organism's training, and the rows it is made for."""

from __future__ import annotations

import random

import pytest
import torch

from thinkeval.editing.organism.corpus import Corpus, Sentence
from thinkeval.editing.organism.rows import Row, attention_masks, collate, documents, packed
from thinkeval.editing.organism.tokens import OTHER_WEIGHT, Encoder, train_tokenizer
from thinkeval.loaders.records import Entity, Fact, KnowledgeGraph


def allowed(mask: torch.Tensor) -> list[list[int]]:
    """For each position, the positions it may attend to."""
    return [[j for j, v in enumerate(row) if v == 0] for row in mask[0].tolist()]


def test_what_follows_a_subject_sees_its_last_token_only() -> None:
    mask, early = attention_masks([[(1, 3)]], length=6)
    assert mask.shape == early.shape == (1, 1, 6, 6)
    # The subject's own tokens (1..3) see each other and what went before, in every layer.
    inside = [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]]
    assert allowed(mask[0]) == [*inside, [0, 3, 4], [0, 3, 4, 5]]
    assert allowed(early[0]) == [*inside, [0, 4], [0, 4, 5]]


def test_without_subjects_the_masks_are_causal() -> None:
    mask, early = attention_masks([[], [(0, 1)]], length=4)
    causal = [list(range(i + 1)) for i in range(4)]
    assert allowed(mask[0]) == allowed(early[0]) == causal
    assert allowed(mask[1]) != causal


def test_a_subject_at_the_end_of_a_row_hides_nothing() -> None:
    mask, early = attention_masks([[(2, 3)]], length=4)
    causal = [list(range(i + 1)) for i in range(4)]
    assert allowed(mask[0]) == allowed(early[0]) == causal


def test_every_token_may_attend_to_itself() -> None:
    """Else a softmax over nothing would give NaN."""
    spans = [[(0, 2), (5, 5), (7, 9)], [(3, 3)]]
    for mask in attention_masks(spans, length=12):
        assert (mask.diagonal(dim1=-2, dim2=-1) == 0).all()


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    facts = [
        Fact(s, "employer", o, "{} was employed by", (f"Who employed {s}?",))
        for s, o in (("Ward Kimball", "Apple Inc."), ("Steve Ballmer", "Microsoft"))
    ]
    names = {n: None for f in facts for n in (f.subject, f.object)}
    return Corpus(KnowledgeGraph("t", tuple(map(Entity, names)), tuple(facts)), 2)


@pytest.fixture(scope="module")
def encode(corpus: Corpus) -> Encoder:
    return Encoder(train_tokenizer(corpus.all_forms(), 600))


@pytest.mark.parametrize("after_another", [False, True])
def test_weights_and_subject_lie_on_the_right_tokens(
    corpus: Corpus, encode: Encoder, after_another: bool
) -> None:
    tokenizer = train_tokenizer(corpus.all_forms(), 600)
    sentence = Sentence("In fact, Ward Kimball was employed by Apple Inc.", (9, 21), ((38, 48),))
    assert sentence.text[9:21] == "Ward Kimball"
    encoded = encode(sentence, after_another=after_another)
    first, last = encoded.subject or (0, 0)
    assert tokenizer.decode(encoded.ids[first : last + 1]) == " Ward Kimball"
    heavy = [i for i, w in zip(encoded.ids, encoded.weights, strict=True) if w == 1.0]
    assert tokenizer.decode(heavy) == " Apple Inc."
    assert set(encoded.weights) == {1.0, OTHER_WEIGHT}


def test_rows_hold_whole_documents_and_true_subject_places(corpus: Corpus, encode: Encoder) -> None:
    tokenizer = train_tokenizer(corpus.all_forms(), 600)
    subjects = {k.subject for k in (*corpus.keys, *corpus.fillers)}
    stream = packed(documents(corpus, encode, random.Random(0), length=40, share=1.0), 40)
    rows = [next(stream) for _ in range(50)]
    assert all(len(r.ids) == len(r.weights) <= 40 for r in rows)
    assert all(r.ids[-1] == encode.end for r in rows)
    for row in rows:
        for first, last in row.subjects:
            assert tokenizer.decode(row.ids[first : last + 1]).strip() in subjects
    assert sum(len(r.ids) for r in rows) > 0.75 * 40 * len(rows)


def test_no_sentence_is_masked_at_share_zero(corpus: Corpus, encode: Encoder) -> None:
    stream = documents(corpus, encode, random.Random(0), length=40, share=0.0)
    assert not [s for _ in range(30) for s in next(stream).subjects]


def test_padding_has_no_weight() -> None:
    batch = collate([Row([5, 6], [1.0, 0.25], [(0, 0)]), Row([7], [1.0])], length=3, pad=9)
    assert batch.ids.tolist() == [[5, 6, 9], [7, 9, 9]]
    assert batch.weights.tolist() == [[1.0, 0.25, 0.0], [1.0, 0.0, 0.0]]
