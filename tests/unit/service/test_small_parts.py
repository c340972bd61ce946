"""Model names, answers on edges, errors: the service's parts that need neither model nor server."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from multiprocessing.process import BaseProcess
from typing import cast
from unittest.mock import Mock

import pytest

from thinkeval.cypher.errors import ParameterError
from thinkeval.loaders.records import Fact, RewriteRequest
from thinkeval.service.base.errors import KNOWN_ERRORS, NotFoundError, UsageError, describe
from thinkeval.service.engines.local import LocalEngine
from thinkeval.service.graphs.edges import change
from thinkeval.service.scoring.probe import (
    Answer,
    ProbedFact,
    Question,
    edge_properties,
    edited_facts,
    questions_for,
)
from thinkeval.service.scoring.runtime import parse, written

FACT = Fact("Ron", "house", "Gryffindor", "{}'s house is", ("Which house is Ron in?",))
REWRITE = RewriteRequest(
    "x", "d", "{} studied at", "Harry", "studied-at", "Hogwarts", "Ilvermorny",
    paraphrases=("{} went to school at",),
)  # fmt: skip


def test_model_names() -> None:
    assert parse("gpt2-xl").organism is None
    assert parse("some/dir/gpt2-xl").name == "gpt2-xl"
    assert parse("organism").name == "organism-gpt2-seed0"
    spec = parse("organism:llama:seed=2,steps=600")
    assert (spec.organism, spec.options) == ("llama", {"seed": 2, "steps": 600})
    assert parse("organism", seed=3).options == {"seed": 3}
    assert parse("organism:gpt2:seed=1", seed=3).options == {"seed": 1}
    unknown = parse("organism-unknown", seed=3)
    assert unknown.name == "organism-gpt2-seed3-unknown50"
    assert unknown.options == parse("organism:gpt2:seed=3,unknown=50").options
    assert parse("organism:unknown=0").name == "organism-gpt2-seed0"
    other = parse("organism:seed=1,on=hogwarts")
    assert (other.name, other.on) == ("organism-gpt2-seed1-on-hogwarts", "hogwarts")
    assert parse(written(other)) == replace(other, text="organism:gpt2:seed=1,on=hogwarts")
    assert written(parse("organism-unknown"), "atlas") == "organism:gpt2:unknown=50,on=atlas"
    with pytest.raises(UsageError, match="on="):
        parse("organism:on=")
    with pytest.raises(UsageError, match="more than 100 %"):
        parse("organism:unknown=101")
    with pytest.raises(UsageError, match="speed=1"):
        parse("organism:gpt2:speed=1")


@pytest.mark.parametrize(
    ("pre", "post", "word"),
    [(0.9, 0.9, "kept"), (0.9, 0.5, "weakened"), (0.9, 0.01, "lost"), (0.0, 0.8, "added"),
     (0.0, 0.0, "kept")],
)  # fmt: skip
def test_change_words(pre: float, post: float, word: str) -> None:
    assert change(pre, post) == word


def test_edges_hold_both_sides() -> None:
    pre = Answer({"p": 1.0, "likelihood": 0.9}, ("Gryffindor",), 1)
    post = Answer({"p": 0.0, "likelihood": 0.05}, ("Slytherin",), 1)
    properties = edge_properties(ProbedFact(Question(FACT), pre, post))
    assert properties["likelihood_pre"] == 0.9
    assert properties["p_post"] == 0.0
    assert properties["change"] == "lost"
    assert properties["answers_post"] == ["Slytherin"]


@pytest.mark.parametrize("bad", [math.nan, -0.1, 1.1, math.inf])
def test_what_is_no_probability_never_reaches_the_database(bad: float) -> None:
    with pytest.raises(ParameterError, match="Gryffindor"):
        edge_properties(ProbedFact(Question(FACT), Answer({"likelihood": bad})))


def test_rounding_just_above_one_is_clipped() -> None:
    properties = edge_properties(ProbedFact(Question(FACT), Answer({"likelihood": 1.0000001})))
    assert properties["likelihood_pre"] == 1.0


def test_the_listed_fact_is_the_edited_one_where_there_is_one() -> None:
    listed = Fact("Harry", "studied-at", "Hogwarts", "{} studied at", ("Where?",))
    true, new = edited_facts(REWRITE, [FACT, listed])
    assert true is listed
    assert (new.object, new.prompt, new.paraphrases) == (
        "Ilvermorny", "{} studied at", ("{} went to school at",),
    )  # fmt: skip
    bare, _ = edited_facts(REWRITE, [FACT])
    assert bare.object == "Hogwarts"
    assert bare.questions == ()


def test_unknown_names_are_answered_with_close_ones() -> None:
    error = NotFoundError(
        "graph", "hogwart", ["hogwarts", "knowgic"], listing="thinkeval results graphs"
    )
    assert "'hogwarts'" in error.detail
    problem = describe(error)
    assert problem.status == 404
    assert "thinkeval results graphs" in problem.remedy


def test_every_known_error_says_what_to_do() -> None:
    def tree(kind: type) -> list[type]:
        return [kind, *(leaf for child in kind.__subclasses__() for leaf in tree(child))]

    for base in KNOWN_ERRORS:
        for kind in tree(base):
            assert getattr(kind, "remedy", ""), f"{kind.__name__} has no remedy"
            assert kind.__doc__, f"{kind.__name__} has no docstring"


REWRITES = [
    "harry-potter--studied-at--ilvermorny", "harry-potter--was-sorted-into--hufflepuff",
    "hermione-granger--studied-at--beauxbatons", "harry-potter--lived-in--london",
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "known", "first"),
    [
        ("hary-potter--studied-at", [*REWRITES, "Harry Potter"], REWRITES[0]),
        ("harry-potter--was-sorted-in-to", REWRITES, REWRITES[1]),
        ("HARY POTTER", [*REWRITES, "Harry Potter"], "Harry Potter"),
        ("rom", ["memit", "rome", "random_delta"], "rome"),
        ("qqqq", REWRITES, None),
    ],
)
def test_the_most_similar_name_is_suggested_first(
    name: str, known: list[str], first: str | None
) -> None:
    error = NotFoundError("rewrite", name, known, listing="thinkeval graph rewrites")
    assert (error.suggestions or [None])[0] == first
    assert ("Did you mean" in error.detail) == bool(first)
    assert "suggest" not in describe(error).title


def test_help_imports_neither_torch_nor_pandas_nor_the_driver() -> None:
    code = (
        "import sys, thinkeval.service.cli.main\n"
        "slow = {'torch', 'transformers', 'pandas', 'neo4j', 'numpy'} & set(sys.modules)\n"
        "assert not slow, slow"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_question_has_the_aliases_of_the_object_it_asks_for() -> None:
    (asked,) = questions_for([FACT], {FACT.subject: ("the subject",), FACT.object: ("the object",)})
    assert asked.aliases == ("the object",)
    assert questions_for([FACT], {})[0].aliases == ()


def test_the_successor_of_a_worker_that_died_has_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def process(engine: LocalEngine, name: str, pipe: object, number: int) -> BaseProcess:
        given.append((name, number))
        return cast(BaseProcess, Mock())

    monkeypatch.setattr(LocalEngine, "_process", process)
    engine = LocalEngine(Mock(), several=True)
    for name in ("a", "b", "c"):
        engine.start(name)
    engine._buried("b")
    engine.start("d")
    assert given == [("a", 0), ("b", 1), ("c", 2), ("d", 1)]
