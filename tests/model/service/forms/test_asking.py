"""Forms asked of tiny models, against one plain forward pass for each prompt and name."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from support.tiny_models import build_tiny
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.deltas import EditEffect, applied
from thinkeval.editing.joint import joint
from thinkeval.editing.models import LoadedModel, weights_digest, wrap
from thinkeval.editing.probe import greedy
from thinkeval.editing.probe.matching import first_sentence, gives
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
from thinkeval.service.forms.material import Answer, Outcome, Prompt, Row
from thinkeval.service.forms.registry import chosen, forms

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
    if each.form.variant.is_written:
        return by_hand_written(loaded, context, each)
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


def by_hand_written(loaded: LoadedModel, context: Context, each: Asked) -> Outcome:
    """The outcome of an answer, and of the next turn where it gives one name."""
    (row,) = each.unit.rows
    answers = [answer_by_hand(loaded, context, row)]
    names = [name for name, given in zip(row.candidates, answers[0].gives, strict=True) if given]
    if each.unit.then is not None and len(names) == 1:
        turns = (("user", row.prompt.user or ""), ("assistant", answers[0].text))
        prompt = Prompt("", user=each.unit.then.question.replace("{}", names[0]), earlier=turns)
        answers.append(answer_by_hand(loaded, context, Row(prompt, each.unit.then.candidates)))
    return each.form.score(answers, each.target)


def answer_by_hand(loaded: LoadedModel, context: Context, row: Row) -> Answer:
    """The most likely tokens, one forward pass each, until the model's end token."""
    tokenizer, user = loaded.tokenizer, row.prompt.user
    earlier = "".join(f"<{role}>{text}\n" for role, text in row.prompt.earlier)
    prompt = row.prompt.text if user is None else f"{earlier}<user>{user}\n<assistant>\n"
    ids = tokenizer(prompt, add_special_tokens=user is None)["input_ids"]
    new: list[int] = []
    text, stopped = "", False
    while len(new) < 64:
        with torch.no_grad():
            token = int(loaded.model(torch.tensor([[*ids, *new]])).logits[0, -1].argmax())
        if stopped := token == tokenizer.eos_token_id:
            break
        new.append(token)
        text = tokenizer.decode(new, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        if user is None and "\n" in text.lstrip():
            break
    told = text.strip()
    told = told if user else told.split("\n")[0].rstrip()
    names = [(name, *context.aliases.get(name, ())) for name in row.candidates]
    verdicts = tuple(
        gives(first_sentence(told, [n for own in names for n in own]), own,
              [n for other in names if other != own for n in other])
        for own in names
    )  # fmt: skip
    return Answer(told, stopped, len(new), verdicts)


def close(found: Outcome, expected: Outcome) -> bool:
    return all(
        one == pytest.approx(other, rel=1e-3, abs=1e-4) if other is not None else one is None
        for one, other in (
            (getattr(found, name), getattr(expected, name))
            for name in ("p", "p_old", "margin", "chance", "further")
        )
    ) and (found.right, found.text, found.length) == (
        expected.right, expected.text, expected.length
    )  # fmt: skip


def edited_units(loaded: LoadedModel, context: Context) -> list[Asked]:
    return fitting(loaded, plan(forms(), [HARRY], context, REWRITE), context).units


def test_every_form_equals_one_pass_for_each_name(loaded: LoadedModel) -> None:
    context = Context(GRAPH, chat=takes_chat(loaded.tokenizer))
    planned = fitting(loaded, plan(chosen(["all"]), context.facts[:4], context), context)
    # Forms by name only have up to eight long prompts a fact.
    named = [form for form in forms() if form.variant.on_request]
    few = fitting(loaded, plan(named, context.facts[:1], context), context)
    units = [*edited_units(loaded, context), *planned.units, *few.units]
    missing = {form.key for form in forms()} - {each.form.key for each in units}
    left_out = {**planned.left_out, **few.left_out}
    too_long = {key for key, reasons in left_out.items() if TOO_LONG in reasons}
    assert missing <= {*too_long, "generated/3-shot"}  # the model has a chat template
    # GPT-2's table has 128 positions, less than three examples take.
    assert (loaded.info.name == "gpt2") == ("question/3-shot" in too_long)
    before = outcomes(loaded, units, context)
    wrong = [
        (each.form.key, found, expected)
        for each, found in zip(units, before, strict=True)
        if not close(found, expected := by_hand(loaded, context, each))
    ]
    assert wrong == []


def test_a_base_model_is_read_up_to_a_line_break(loaded: LoadedModel) -> None:
    loaded.tokenizer.chat_template = None
    context = Context(GRAPH, chat=False)
    asked = plan([f for f in forms() if f.id == "generated"], context.facts, context)
    units = fitting(loaded, asked, context).units
    assert bool(units) == (loaded.info.name == "llama")
    found = outcomes(loaded, units, context)
    assert all(map(close, found, [by_hand(loaded, context, each) for each in units]))


def test_written_answers_end_by_themselves_and_are_judged(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tiny model's answers are replaced by given ones; the judging is the form's."""
    context = Context(GRAPH, chat=True)
    asked = plan([f for f in forms() if f.key == "generated/chat"], [HARRY], context, REWRITE)
    for text, right, old in (
        ("He attends Ilvermorny.", 1.0, 0.0),
        ("Hogwarts, and not Ilvermorny.", 0.0, 1.0),
        ("Either Hogwarts or Ilvermorny.", None, None),
        ("A school.", 0.0, 0.0),
    ):
        monkeypatch.setattr(
            greedy, "written", lambda *_, text=text, **__: [greedy.Written(text, True, 5)]
        )
        (found,) = outcomes(loaded, asked.units, context)
        assert (found.right, found.p_old, found.text, found.length) == (right, old, text, 5)


def test_a_conversation_hands_on_the_name_that_the_model_gave(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers are given ones; the second question is about the first answer's name."""
    context = Context(GRAPH, chat=True)
    form = [f for f in forms() if f.key == "composed/turns"]
    units = plan(form, [HARRY], context).units
    assert units
    end = units[0].unit.facts[1]
    assert (end.subject, units[0].unit.then is not None) == ("Hogwarts", True)
    asked: list[str] = []
    first = ""

    def written(loaded: LoadedModel, prompts: Any, **_: Any) -> list[greedy.Written]:
        asked.extend(prompt.text for prompt in prompts)
        return [
            greedy.Written(f"It is {end.object}." if later else first, True, 4)
            for later in ("<assistant>" in prompt.text[:-14] for prompt in prompts)
        ]

    monkeypatch.setattr(greedy, "written", written)
    for first, handed_on in (
        ("He attends Hogwarts.", True), ("Ilvermorny", True), ("I do not know.", False),
        ("Either Hogwarts or Ilvermorny.", False),
    ):  # fmt: skip
        asked.clear()
        found = outcomes(loaded, units[:1], context)[0]
        assert found.further == float(handed_on)
        assert found.right == (1.0 if handed_on else None)
        assert len(asked) == 1 + handed_on
        if handed_on:
            name = "Hogwarts" if "Hogwarts" in first else "Ilvermorny"
            begun = asked[0].removesuffix("<assistant>\n")
            assert asked[1].startswith(f"{begun}<assistant>{first}")
            assert name in asked[1].split("<user>")[-1]
            assert (found.text, found.length) == (f"{first} → It is {end.object}.", 8)


def test_an_edit_is_asked_in_the_state_that_it_makes(loaded: LoadedModel) -> None:
    context = Context(GRAPH, chat=True)
    units = edited_units(loaded, context)
    name = adapter_for(loaded.model).mlp_out(1).weight
    weight = loaded.model.get_parameter(name)
    drawn = torch.Generator().manual_seed(1)
    effect = EditEffect({name: torch.randn(weight.shape, generator=drawn) * 0.2})
    digest = weights_digest(loaded.model)
    before = outcomes(loaded, units, context)
    after = outcomes(loaded, units, context, effect)
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
    (before,), (after,) = (outcomes(loaded, units, context, each) for each in (None, effect))
    text = f"Ron went too. {units[0].unit.rows[0].prompt.text}"
    assert after.p == pytest.approx(probability(loaded, text, "Ilvermorny", chat=False), rel=1e-3)
    assert after.p != before.p


def test_no_edit_gives_the_same_numbers(loaded: LoadedModel) -> None:
    context = Context(GRAPH, chat=True)
    units = edited_units(loaded, context)
    before, after = (outcomes(loaded, units, context, each) for each in (None, EditEffect()))
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
