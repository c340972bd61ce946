"""Forms asked of tiny models, against one plain forward pass for each prompt and name."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import pytest
import torch

from support.tiny_models import build_tiny
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.deltas import EditEffect, applied
from thinkeval.editing.joint import joint
from thinkeval.editing.models import LoadedModel, weights_digest, wrap
from thinkeval.editing.probe.token_tree import beginnings
from thinkeval.loaders.records import Entity, Fact, KnowledgeGraph, RewriteRequest
from thinkeval.service.forms.asking import (
    TOO_LONG,
    Asked,
    fitting,
    outcomes,
    plan,
    takes_chat,
    tokens,
)
from thinkeval.service.forms.context import Context
from thinkeval.service.forms.examples import questions
from thinkeval.service.forms.material import Outcome
from thinkeval.service.forms.registry import forms

TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>\n{% endif %}"
)
SCHOOL = ("{} is located in", "Where is {}?", "What is the place of {}?")


def graph() -> KnowledgeGraph:
    schools = {"Hogwarts": "Scotland", "Ilvermorny": "America", "Durmstrang": "Norland"}
    pupils = {"Harry Potter": "Hogwarts", "Ron Weasley": "Ilvermorny", "Viktor Krum": "Durmstrang"}
    facts = [
        Fact(school, "lies in", place, "The school of {} is located in",
             (f"What is the place of {school}?",), ("One finds {} in",))
        for school, place in schools.items()
    ] + [
        Fact(pupil, "studied at", school, "The school that {} attends is",
             (f"What is the school of {pupil}?",), ("{} went to", "{} was at"))
        for pupil, school in pupils.items()
    ]  # fmt: skip
    facts += [
        Fact(pupil, "lives in", home, "The home of {} is in", (f"What is the home of {pupil}?",))
        for pupil, home in {"Harry Potter": "Surrey", "Ron Weasley": "Devon"}.items()
    ]
    names = dict.fromkeys(name for f in facts for name in (f.subject, f.object))
    aliases = {"Scotland": ("North Britain",)}
    entities = tuple(Entity(name, aliases.get(name, ())) for name in names)
    return KnowledgeGraph("schools", entities, tuple(facts))


GRAPH = graph()
HARRY = next(f for f in GRAPH.facts if f.subject == "Harry Potter")
REWRITE = RewriteRequest(
    id="harry", dataset="schools", prompt=HARRY.prompt, subject=HARRY.subject,
    relation=HARRY.relation, target_true="Hogwarts", target_new="Ilvermorny",
    question=HARRY.question,
)  # fmt: skip


@pytest.fixture(params=["gpt2", "llama"])
def loaded(request: pytest.FixtureRequest) -> LoadedModel:
    model, tokenizer = build_tiny(request.param, seed=5)
    tokenizer.chat_template = TEMPLATE
    if request.param == "llama":
        model.config.max_position_embeddings = 1024  # its positions are rotations, not a table
    return wrap(model, tokenizer, name=request.param)


def probability(
    loaded: LoadedModel, prompt: str, name: str, *, chat: bool, lead: str | None = None
) -> float:
    """P(name | prompt), token after token of one text, by one forward pass."""
    lead = joint(prompt, name) if lead is None else lead
    tokenizer = loaded.tokenizer
    start = tokenizer(prompt, add_special_tokens=not chat)["input_ids"]
    whole = tokenizer(prompt + lead + name, add_special_tokens=not chat)["input_ids"]
    assert whole[: len(start)] == start
    with torch.no_grad():
        logits = loaded.model(torch.tensor([whole])).logits[0].double()
    steps = torch.log_softmax(logits, -1)
    return math.exp(sum(float(steps[i - 1, whole[i]]) for i in range(len(start), len(whole))))


def by_hand(loaded: LoadedModel, context: Context, each: Asked) -> Outcome:
    """The outcome of a unit whose probabilities are computed one by one."""
    values: list[list[float]] = []
    for row in each.unit.rows:
        text, user = row.prompt.text, row.prompt.user
        prompt = text if user is None else f"<user>{user}\n<assistant>\n{text}"
        if row.words:
            small = {"Yes": (" yes",), "No": (" no",)}
            texts = {name: (f" {name}", name, *small.get(name, ())) for name in row.candidates}
        else:
            texts = {name: (name, *context.aliases.get(name, ())) for name in row.candidates}
        lead = "" if row.words else None
        values.append([
            math.log(sum(
                probability(loaded, prompt, spelled, chat=user is not None, lead=lead)
                for spelled in texts[name]
            ))
            for name in row.candidates
        ])  # fmt: skip
    return each.form.score(values, each.target)


def close(found: Outcome, expected: Outcome) -> bool:
    return all(
        one == pytest.approx(other, rel=1e-3, abs=1e-4) if other is not None else one is None
        for one, other in (
            (getattr(found, name), getattr(expected, name))
            for name in ("p", "p_old", "margin", "chance", "further")
        )
    ) and (found.right == expected.right)


def edited_units(loaded: LoadedModel, context: Context) -> list[Asked]:
    return fitting(loaded, plan(forms(), [HARRY], context, REWRITE), context).units


def test_every_form_equals_one_pass_for_each_name(loaded: LoadedModel) -> None:
    context = Context(GRAPH, chat=takes_chat(loaded.tokenizer))
    planned = fitting(loaded, plan(forms(), context.facts[:4], context), context)
    units = [*edited_units(loaded, context), *planned.units]
    missing = {form.key for form in forms()} - {each.form.key for each in units}
    too_long = {key for key, reasons in planned.left_out.items() if TOO_LONG in reasons}
    assert missing <= too_long
    # GPT-2's table has 128 positions, less than three examples take.
    assert (loaded.info.name == "gpt2") == ("question/3-shot" in too_long)
    before, after = outcomes(loaded, units, context)
    assert before == after
    wrong = [
        (each.form.key, found, expected)
        for each, found in zip(units, before, strict=True)
        if not close(found, expected := by_hand(loaded, context, each))
    ]
    assert wrong == []


def test_an_edit_is_asked_in_the_state_that_it_makes(loaded: LoadedModel) -> None:
    context = Context(GRAPH, chat=True)
    units = edited_units(loaded, context)
    name = adapter_for(loaded.model).mlp_out(1).weight
    weight = loaded.model.get_parameter(name)
    drawn = torch.Generator().manual_seed(1)
    effect = EditEffect({name: torch.randn(weight.shape, generator=drawn) * 0.2})
    digest = weights_digest(loaded.model)
    before, after = outcomes(loaded, units, context, effect)
    assert weights_digest(loaded.model) == digest
    assert all(map(close, before, [by_hand(loaded, context, each) for each in units]))
    with applied(loaded.model, effect):
        expected = [by_hand(loaded, context, each) for each in units]
    assert all(map(close, after, expected))
    assert sum(map(close, before, after)) < len(units) / 2


def test_an_edit_in_context_changes_every_prompt(loaded: LoadedModel) -> None:
    context = Context(GRAPH, chat=True)
    units = [u for u in plan(forms(), [HARRY], context, REWRITE).units if u.form.id == "cloze"]
    effect = EditEffect(prompt_change=lambda prompt: f"Ron went too. {prompt}")
    before, (after,) = outcomes(loaded, units, context, effect)
    text = f"Ron went too. {units[0].unit.rows[0].prompt.text}"
    assert after.p == pytest.approx(probability(loaded, text, "Ilvermorny", chat=False), rel=1e-3)
    assert after.p != before[0].p


def test_no_edit_gives_the_same_numbers(loaded: LoadedModel) -> None:
    context = Context(GRAPH, chat=True)
    units = edited_units(loaded, context)
    before, after = outcomes(loaded, units, context, EditEffect())
    assert before == after


def test_facts_that_cannot_be_asked_are_counted_by_reason(loaded: LoadedModel) -> None:
    context = Context(GRAPH, chat=False)
    found = plan(forms(), context.facts, context)
    assert found.left_out["chat_prefill/chat"] == Counter({"the model has no chat template": 8})
    assert found.left_out["prefixed/stated"].total() == 8
    assert "cloze/0-shot" not in found.left_out
    first = plan(forms(), context.facts, context, at_most=2).units
    assert {each.target.fact.id for each in first if each.form.id == "cloze"} == {
        fact.id for fact in context.facts[:2]
    }
    loaded.tokenizer.chat_template = "{{ raise_exception('no') }}"
    assert not takes_chat(loaded.tokenizer)
    loaded.tokenizer.chat_template = None
    assert not takes_chat(loaded.tokenizer)


def test_tokens_count_each_beginning_once(loaded: LoadedModel) -> None:
    context = Context(GRAPH, chat=True)
    planned = fitting(loaded, plan(forms(), context.facts, context), context)
    found = tokens(loaded, planned.units, context)
    texts = {
        tuple(_read(loaded, fact, name))
        for fact in context.facts
        for target in context.target(fact).options
        for name in (target, *context.aliases.get(target, ()))
    }
    prefixes = {text[:n] for text in texts for n in range(1, len(text) + 1)}
    assert found["cloze/0-shot"] == len(prefixes) / len(context.facts)
    if "question/3-shot" in found:
        # Three examples are one beginning that all facts share.
        examples = context.examples(questions, 3)
        length = len(loaded.tokenizer("\n\n".join(examples))["input_ids"])
        more = found["question/3-shot"] - found["question/0-shot"]
        assert 0 < more * len(context.facts) <= length + len(context.facts)


def _read(loaded: LoadedModel, fact: Fact, name: str) -> Sequence[int]:
    text = fact.prompt.replace("{}", fact.subject)
    ids: list[int] = loaded.tokenizer(f"{text} {name}")["input_ids"]
    return ids[:-1]


def test_beginnings() -> None:
    assert beginnings([]) == 0
    assert beginnings([[1, 2, 3], [1, 2], [1, 4], [1, 2, 3]]) == 4
