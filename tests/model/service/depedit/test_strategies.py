"""The strategies, one by one, on a set of four facts; what the protocol puts on and takes off."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

import pytest
import torch

from support.tiny_models import build_tiny
from thinkeval.cypher.run import Database
from thinkeval.editing.deltas import EditEffect
from thinkeval.editing.models import LoadedModel, ModelInfo, weights_digest
from thinkeval.loaders.knowledge_sets import QA, Copy, Implication, KnowledgeSet
from thinkeval.loaders.records import RewriteRequest
from thinkeval.loaders.rule_records import Atom, rule
from thinkeval.service.base.errors import NotFoundError, UsageError
from thinkeval.service.depedit import protocol as run
from thinkeval.service.depedit import strategies
from thinkeval.service.depedit.editor import KINDS, Editor, EditorOptions, pairs_of, request
from thinkeval.service.depedit.protocol import Method, Protocol
from thinkeval.service.depedit.questions import questions
from thinkeval.service.depedit.strategies import Bed, rule_request
from thinkeval.service.models.depedit import Question
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel

BORN, IN, CITIZEN = "was born in", "is a city in", "is a citizen of"


def _qa(subject: str, relation: str, object: str) -> QA:
    prompt = f"{{}} {relation}"
    return QA(subject, relation, object, prompt, prompt)


def _implied(person: str, city: str, country: str) -> Implication:
    return Implication(_qa(person, CITIZEN, country), ((person, BORN), (city, IN)))


RULE = rule(
    (
        Atom("p", BORN, "c", ("[Person A] was born in [City A].",)),
        Atom("c", IN, "n", ("[City A] is a city in [Country A].",)),
    ),
    Atom("p", CITIZEN, "n", ("[Person A] is a citizen of [Country A].",)),
)
SET = KnowledgeSet(
    id="try",
    dataset="atlas",
    setting="CQ_DT",
    seed=0,
    rule=RULE,
    specific=(
        _qa("Ann", BORN, "Rome"),
        _qa("Bob", BORN, "Oslo"),
        _qa("Rome", IN, "Italy"),
        _qa("Oslo", IN, "Norway"),
    ),
    unrelated=(_qa("Tea", "is made of", "leaves"), _qa("Ink", "is made of", "soot")),
    implications=(_implied("Ann", "Rome", "Italy"), _implied("Bob", "Oslo", "Norway")),
    copies=(
        Copy(
            (_qa("Ann", BORN, "Oslo"),), (_implied("Ann", "Oslo", "Norway"),), (("Bob", CITIZEN),)
        ),
        Copy((_qa("Rome", IN, "Malta"),), (_implied("Ann", "Rome", "Malta"),), (("Bob", CITIZEN),)),
    ),
)
PHASES = [None, *range(len(SET.copies))]


@dataclass
class Believer:
    """A model that says what it was last given; an editor that gives it, and remembers."""

    given: dict[str, str] = field(default_factory=dict)
    edits: list[tuple[str, tuple[RewriteRequest, ...]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def ask(self, texts: Sequence[str]) -> list[str]:
        self.texts += texts
        return [self.given.get(text, "no idea") for text in texts]

    def establish(self, requests: Sequence[RewriteRequest]) -> EditEffect:
        return self._edit("establish", requests)

    def update(self, requests: Sequence[RewriteRequest], state: object) -> EditEffect:
        return self._edit("update", requests)

    def _edit(self, phase: str, requests: Sequence[RewriteRequest]) -> EditEffect:
        self.edits.append((phase, tuple(requests)))
        self.given |= {r.filled_prompt: r.target_new for r in requests}
        return EditEffect()


def _strategy(name: str, db: object = None, editor: str | None = None) -> tuple[Any, Believer]:
    model = Believer()
    bed = Bed(SET, cast(Database, db), lambda _: cast(Editor, model), model.ask, seed=5)
    return strategies.get(name)(bed, editor), model


def _asked(copy: int | None, role: str | None = None) -> list[Question]:
    return [q for q in questions(SET) if q.copy == copy and role in (None, q.role)]


def _targets(requests: Sequence[RewriteRequest]) -> list[tuple[str, str, str]]:
    return [(r.subject, r.relation, r.target_new) for r in requests]


def test_every_file_is_a_strategy_that_says_what_it_does() -> None:
    known = {
        "random", "base", "finetune", "finetune_rule", "mend", "mend_imp", "memit", "derive",
        "forwchain", "backchain",
    }  # fmt: skip
    assert set(strategies.names()) == known
    assert all(strategies.summary(name) for name in known)
    with pytest.raises(NotFoundError, match="forwchain"):
        strategies.get("forwchian")


def test_base_edits_nothing() -> None:
    strategy, model = _strategy("base")
    assert strategy.establish() is None
    assert strategy.update(SET.copies[0]) is None
    assert not model.edits


def test_random_draws_from_what_was_seen_by_then() -> None:
    strategy, model = _strategy("random")
    seen = {"Rome", "Oslo", "Italy", "Norway", "leaves", "soot"}
    said = strategy.answers(_asked(None) * 10, None)
    assert set(said) <= seen
    assert len(set(said)) > 2
    assert said == strategy.answers(_asked(None) * 10, None)
    draws = [
        answer
        for seed in range(40)
        for answer in type(strategy)(replace(strategy.bed, seed=seed)).answers(
            _asked(1), SET.copies[1]
        )
    ]
    assert set(draws) == seen | {"Malta"}
    assert not model.texts


def test_an_editor_is_given_facts_first_and_a_copys_updates_then() -> None:
    for name in ("finetune", "memit", "mend", "mend_imp"):
        strategy, model = _strategy(name)
        strategy.establish()
        strategy.update(SET.copies[1])
        first, then = model.edits
        told = [(qa.subject, qa.relation, qa.object) for qa in (*SET.specific, *SET.unrelated)]
        assert (first[0], _targets(first[1])) == ("establish", told)
        assert (then[0], _targets(then[1])) == ("update", [("Rome", IN, "Malta")])


def test_the_rule_is_a_request_of_finetune_rule() -> None:
    strategy, model = _strategy("finetune_rule")
    strategy.establish()
    made = model.edits[0][1][-1]
    assert made == rule_request(RULE)
    assert made.filled_prompt == (
        "If [Person A] was born in [City A], and [City A] is a city in [Country A], then"
    )
    assert made.target_new == "[Person A] is a citizen of [Country A]"


def test_derive_puts_the_present_premises_before_an_implication() -> None:
    strategy, model = _strategy("derive")
    strategy.answers(_asked(0), SET.copies[0])
    ann = next(text for text in model.texts if text.endswith("Ann is a citizen of"))
    sentences = ann.removesuffix(" Ann is a citizen of").split(". ")
    assert sorted(s.rstrip(".") for s in sentences) == [
        "Ann was born in Oslo", "Ink is made of soot", "Oslo is a city in Norway",
        "Tea is made of leaves",
    ]  # fmt: skip
    plain = {q.asked for q in _asked(0) if q.role != "implication"}
    assert plain <= set(model.texts)


def test_forwchain_edits_what_follows_from_the_models_other_answers(db: Database) -> None:
    strategy, model = _strategy("forwchain", db)
    strategy.establish()
    strategy.update(SET.copies[0])
    assert _targets(model.edits[1][1]) == [("Ann", BORN, "Oslo"), ("Ann", CITIZEN, "Norway")]
    # What the model does not say, it does not put together.
    strategy, model = _strategy("forwchain", db)
    strategy.update(SET.copies[0])
    assert _targets(model.edits[0][1]) == [("Ann", BORN, "Oslo")]


def test_backchain_proves_from_answers_and_else_asks(db: Database) -> None:
    strategy, model = _strategy("backchain", db)
    strategy.establish()
    assert strategy.answers(_asked(None, "implication"), None) == ["Italy", "Norway"]
    strategy.update(SET.copies[1])
    assert strategy.answers(_asked(1, "implication"), SET.copies[1]) == ["Malta", "Norway"]
    model.given = {"Ann was born in": "Rome", "Ann is a citizen of": "France"}
    said = strategy.answers(_asked(None), None)
    assert said[-2:] == ["France", "no idea"]
    assert said[:2] == ["Rome", "no idea"]


def test_names_of_methods_are_read(runtime: Runtime) -> None:
    assert run.methods(["memit+forwchain", "base"]) == [
        Method("forwchain", "memit"), Method("base"),
    ]  # fmt: skip
    assert run.methods(["backchain"], "rome") == [Method("backchain", "rome")]
    assert Method("forwchain").wrapped == "finetune"
    assert Method("derive").wrapped == "base"
    assert Method("finetune").wrapped is None
    with pytest.raises(UsageError, match="takes no editor"):
        run.methods(["memit+finetune"])
    with pytest.raises(UsageError, match="--editor memit"):
        run.methods(["base"], "memit")
    with pytest.raises(UsageError, match="No knowledge sets to run"):
        run.chosen(runtime, [], None)
    with pytest.raises(UsageError, match="without a graph"):
        run.graph_of(replace(SET, dataset=""), None)


@pytest.fixture
def protocol(runtime: Runtime) -> Iterator[Protocol]:
    model, tokenizer = build_tiny("gpt2", seed=0)
    info = ModelInfo("tiny", None, weights_digest(model), "float32", "cpu", "gpt2", 1)
    made = RuntimeModel(LoadedModel(model, tokenizer, info), "tiny", "tiny")
    yield Protocol(runtime, made, SET, EditorOptions("atlas"))
    assert weights_digest(model) == info.weights_digest


class Marker:
    """An editor whose edits show in a weight: 1 for establishing, 10 for the first copy, ..."""

    hparams: ClassVar[dict[str, object]] = {}

    def __init__(self, model: Any, fails: bool = False) -> None:
        self.fails = fails
        self.name, weight = next(iter(model.named_parameters()))
        self.shape = weight.shape

    def establish(self, requests: Sequence[RewriteRequest]) -> EditEffect:
        assert len(requests) == 6
        return self._effect(1.0)

    def update(self, requests: Sequence[RewriteRequest], state: object) -> EditEffect:
        if self.fails and requests[0].subject == "Rome":
            raise RuntimeError("no")
        return self._effect(10.0 if requests[0].subject == "Ann" else 100.0)

    def _effect(self, value: float) -> EditEffect:
        return EditEffect({self.name: torch.full(self.shape, value)})


def _watched(protocol: Protocol, editor: Marker, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the change of the model at each probe, rounded to the marks."""
    weight = dict(protocol.model.loaded.model.named_parameters())[editor.name]
    start, seen = weight.detach().clone(), []

    def ask(texts: Sequence[str]) -> list[str]:
        seen.append(round(float((weight.detach() - start).mean()), 2))
        return ["said"] * len(texts)

    make: Callable[[str], Editor] = lambda _: cast(Editor, editor)  # noqa: E731
    monkeypatch.setattr(protocol, "editor", make)
    monkeypatch.setattr(protocol, "ask", ask)
    return seen


def test_each_copy_begins_where_the_establishing_ended(
    protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = _watched(protocol, Marker(protocol.model.loaded.model), monkeypatch)
    record, answers = protocol.run(Method("finetune"))
    assert seen == [1, 11, 101]
    assert [a.question for a in answers] == [q.id for q in questions(SET)]
    assert (record.strategy, record.editor, record.model) == ("finetune", None, "tiny")
    assert record.id == protocol.prepare(Method("finetune"))[0].id
    assert record.id != protocol.prepare(Method("memit"))[0].id


def test_the_model_is_restored_when_an_update_fails(
    protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = Marker(protocol.model.loaded.model, fails=True)
    seen = _watched(protocol, editor, monkeypatch)
    with pytest.raises(RuntimeError, match="no"):
        protocol.run(Method("finetune"))
    assert seen == [1, 11]  # the fixture compares the weights


def test_pairs_are_of_the_kinds_they_say() -> None:
    wordings = {BORN: ("{} was born in", "{} is a native of"), IN: ("{} is a city in",)}
    found = pairs_of(SET, wordings, most=3, seed=1)
    pairs = {
        kind: [(found.facts[a], found.facts[b]) for a, b in found.by_kind[kind]] for kind in KINDS
    }
    premises = {i.qa.key: i.premises for i in SET.implications}
    assert len(pairs["premises & implication"]) == 3
    assert all(a.key in premises[b.key] for a, b in pairs["premises & implication"])
    assert len(pairs["similar surface form"]) == 2
    for a, b in pairs["similar surface form"]:
        assert (a.relation, a.prompt) == (b.relation, b.prompt)
        assert a.subject != b.subject
    rephrased = pairs["original & rephrased"]
    assert [(a.key, a.object) for a, _ in rephrased] == [(b.key, b.object) for _, b in rephrased]
    assert {b.prompt for _, b in rephrased} == {"{} is a native of"}
    for a, b in pairs["random"]:
        assert a.relation != b.relation
        assert not {a.subject, a.object} & {b.subject, b.object}
    assert found == pairs_of(SET, wordings, most=3, seed=1)
    assert len(found.facts) == len(set(found.facts))
    assert not pairs_of(SET, {}).by_kind["original & rephrased"]


def test_a_request_does_not_tell_what_was_true() -> None:
    made = request(SET.specific[0])
    assert made.target_true == ""
    assert made.filled_prompt == "Ann was born in"
