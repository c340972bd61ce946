"""Greedy answers: those of plain generation, whatever the batch, cut as names are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from support.references.greedy_reference import generated, own_answer
from support.tiny_models import ARCHITECTURES, build_tiny
from thinkeval.editing.errors import ProbeError
from thinkeval.editing.models import LoadedModel, ModelInfo
from thinkeval.editing.probe import ProbeItem, ProbeSettings, own_answers, probe
from thinkeval.editing.probe.greedy import answers, names_at_start
from thinkeval.editing.probe.prompts import Renderer
from thinkeval.editing.probe.sentences import cut, first_clause
from thinkeval.service.graphs import datasets
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel

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


TEMPLATE = (
    "<|begin|>{% for m in messages %}[{{ m.role }}]{{ m.content }}<|endoftext|>{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)


def _changed(prompt: str) -> str:
    return f"Harry Potter. {prompt}"


@pytest.mark.parametrize("chat", ["never", "always"])
@pytest.mark.parametrize("change", [None, _changed], ids=["as it is", "changed"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_own_answers_are_those_of_generation(
    architecture: str, change: Callable[[str], str] | None, chat: str
) -> None:
    loaded = _loaded(architecture)
    loaded.tokenizer.chat_template = TEMPLATE
    prompts = [*QUESTIONS[:3], f"{QUESTIONS[1]}  "]
    items = [ProbeItem(str(i), text, "Hogwarts") for i, text in enumerate(prompts)]
    right = []
    for prompt in prompts:
        text = Renderer(loaded.tokenizer, chat, change).cloze(prompt).text
        right.append(own_answer(loaded, text, special=chat == "never"))
    for batch_tokens in (None, 1):
        asked = ProbeSettings(chat=chat, batch_tokens=batch_tokens)
        assert own_answers(loaded, items, asked, prompt_change=change) == right
    assert any(right)


def test_an_object_above_one_half_is_the_answer(
    runtime: Runtime, hogwarts: str, organism: RuntimeModel
) -> None:
    """Each of its tokens is then the likeliest one, so that nothing has to be decoded."""
    facts = datasets.content(runtime.db, hogwarts).facts
    items = [ProbeItem(f.id, f.prompt.replace("{}", f.subject), f.object) for f in facts]
    loaded = organism.loaded
    found = probe(loaded, items, ProbeSettings(measures=("likelihood",)))
    values = [each.likelihood for each in found]
    decoded = own_answers(loaded, items)
    shortened = own_answers(loaded, items, likelihoods=values)
    sure = [i for i, value in enumerate(values) if value is not None and value > 0.5]
    assert len(sure) > 50
    for i in sure:
        text = generated(loaded, items[i].prompt)
        assert text.lstrip().startswith(items[i].object)
        several = sum(items[i].prompt == each.prompt for each in items) > 1
        assert shortened[i] == (decoded[i] if several else items[i].object)
    others = [i for i in range(len(items)) if i not in sure]
    assert {items[i].prompt for i in others} - {items[i].prompt for i in sure}
    for i in others:
        assert shortened[i] in (decoded[i], *(items[k].object for k in sure))


@pytest.mark.parametrize(
    ("text", "whole", "growing"),
    [
        ("Sirius Black was", "Sirius Black", "Sirius Black"),
        ("Sirius Bl", "Sirius", ""),
        ("Sirius Bell", "Sirius", "Sirius"),
        ("Sirius Black.", "", ""),
        ("Sirius's friend", "", ""),
        ("James and Sirius Black were", "James and Sirius Black", "James and Sirius Black"),
        ("James and Sirius Black", "", ""),
        ("James and Sirius Bl", "James and Sirius", ""),
        ("James an", "James", ""),
        ("James and went", "James", "James"),
        ("Europe is", "", ""),
    ],
)
def test_an_own_answer_ends_with_the_names_that_it_begins_with(
    text: str, whole: str, growing: str
) -> None:
    names = ("Sirius Black", "Sirius", "James")
    assert names_at_start(text, names) == whole
    assert names_at_start(text, names, growing=True) == growing


@pytest.mark.parametrize(
    ("text", "names", "wanted"),
    [
        (" French, and its river is", (), "French"),
        (" French (see below", (), "French"),
        (" Germany; it", (), "Germany"),
        (" 1,984 people", (), "1,984 people"),
        (" Washington, D.C., the", ("Washington, D.C.",), "Washington, D.C."),
        (" Washington, D", ("Washington, D.C.",), "Washington, D"),
        (" Washington, the", ("Washington, D.C.",), "Washington"),
        ('\n"French".\nIt', (), "French"),
        (" パリ、フランス", (), "パリ"),
        ("<think> It may be", (), ""),
    ],
)
def test_an_own_answer_ends_with_its_first_clause(
    text: str, names: tuple[str, ...], wanted: str
) -> None:
    assert first_clause(text, names) == wanted
