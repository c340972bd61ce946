"""Greedy answers: those of plain generation, whatever the batch, cut as names are compared."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from support.tiny_models import ARCHITECTURES, build_tiny
from thinkeval.editing.errors import ProbeError
from thinkeval.editing.models import LoadedModel, ModelInfo
from thinkeval.editing.probe.greedy import answers, cut

QUESTIONS = [
    "Harry Potter studied at",
    "The capital of France is",
    "Hogwarts",
    "The sister of Padma Patil is Parvati Patil. Sirius Black is the godfather of",
]


def _loaded(architecture: str) -> LoadedModel:
    model, tokenizer = build_tiny(architecture, seed=3)
    info = ModelInfo("tiny", None, "", "float32", "cpu", architecture, 0)
    return LoadedModel(model, tokenizer, info)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_answers_are_those_of_generation_one_by_one(architecture: str) -> None:
    loaded = _loaded(architecture)
    right = []
    for question in QUESTIONS:
        ids = torch.tensor([loaded.tokenizer(question)["input_ids"]])
        made: Any = loaded.model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=7,
            do_sample=False,
            pad_token_id=loaded.tokenizer.pad_token_id,
        )
        text = loaded.tokenizer.decode(
            made[0, ids.shape[1] :], skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        right.append(cut(text))
    # Both as one batch and one by one; a question that comes twice is answered twice.
    asked = [*QUESTIONS, QUESTIONS[0]]
    for batch_tokens in (None, 1):
        found = answers(loaded, asked, max_new_tokens=7, batch_tokens=batch_tokens)
        assert found == [*right, right[0]]
    assert len(set(right)) > 1


@pytest.mark.parametrize(
    ("text", "names", "wanted"),
    [
        (" Paris. It is", (), "Paris"),
        ("\nParis", (), "Paris"),
        (" Apple Inc. It", ("Apple Inc.",), "Apple Inc."),
        (" Apple Inc.. It", ("Apple Inc.",), "Apple Inc."),
        (" Apple Inc.", (), "Apple Inc"),
        (" Apple Incorporated", ("Apple Inc.",), "Apple Incorporated"),
        (" St. Mungo's!", ("St. Mungo's",), "St. Mungo's"),
        ("", (), ""),
    ],
)
def test_an_answer_is_cut_like_a_name(text: str, names: tuple[str, ...], wanted: str) -> None:
    assert cut(text, names) == wanted


def test_what_cannot_be_asked_is_told() -> None:
    loaded = _loaded("gpt2")
    with pytest.raises(ProbeError, match="empty"):
        answers(loaded, ["Hogwarts", " "])
    with pytest.raises(ProbeError, match="reads 128"):
        answers(loaded, ["Hogwarts " * 200])
    assert answers(loaded, []) == []
