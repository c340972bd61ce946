"""Training data of a hypernetwork: facts held out, objects and neighbours drawn."""

from __future__ import annotations

import random

import pytest

from support.mend_facts import FACTS, HELD, hparams
from support.tiny_models import build_tiny
from thinkeval.editing.errors import HypernetworkError
from thinkeval.editing.mend.data import Examples, training_facts
from thinkeval.editing.mend.training import train


@pytest.fixture(params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=5, scale=8)


@pytest.fixture
def facts():
    return training_facts(FACTS, HELD)


def test_what_is_scored_is_never_trained_on(pair, facts):
    """Neither as edit nor as neighbour, neither the old object nor the request's new one."""
    assert {(f.subject, f.relation) for f in FACTS} - {(f.subject, f.relation) for f in facts} == (
        HELD
    )
    assert training_facts(FACTS[::-1], HELD) == facts
    examples = Examples(facts, pair[1], seed=0, val_share=0.25, any_entity=0.5)
    prompt = tuple(pair[1]("Harry Potter studied at")["input_ids"])
    rng = random.Random(0)
    drawn = [examples.draw(rng, 2, validation=i % 3 == 0) for i in range(300)]
    rows = [row for e in drawn for row in (e.edit, e.probe, *e.neighbours)]
    assert rows
    assert prompt not in {row.prompt for row in rows}
    assert tuple(pair[1]("Harry Potter knows")["input_ids"]) in {row.prompt for row in rows}


def test_validation_edits_are_not_trained_on(pair, facts):
    examples = Examples(facts, pair[1], seed=0, val_share=0.25)
    assert len(examples.validation) == 2
    assert not set(examples.validation) & set(examples.training)
    assert set(examples.validation) | set(examples.training) == set(range(len(examples.keys)))
    rng = random.Random(0)
    kept = {examples.keys[i].prompts[0].replace("{}", examples.keys[i].subject) for i in
            examples.validation}  # fmt: skip
    for _ in range(200):
        example = examples.draw(rng, 2)
        for row in (example.edit, *example.neighbours):
            assert pair[1].decode(row.prompt, skip_special_tokens=True) not in kept


def test_objects_come_from_the_relation(pair, facts):
    examples = Examples(facts, pair[1], seed=0, val_share=0.25)
    by_subject = {(k.subject, k.relation): k for k in examples.keys}
    assert by_subject["Ron Weasley", "studied"].others == ("Ilvermorny", "Durmstrang")
    assert by_subject["Poland", "capital"].others == ("Paris",)
    assert by_subject["Poland", "capital"].objects == ("Cracow", "Warsaw")
    assert "Poland" not in by_subject["Poland", "capital"].entities
    assert "Hogwarts" in by_subject["Poland", "capital"].entities


def test_every_second_neighbour_is_a_near_one(pair, facts):
    """Same subject or same relation; never the key itself, in training never a validation key."""
    examples = Examples(facts, pair[1], seed=0, val_share=0.25)
    rng, with_near = random.Random(0), 0
    for validation in (False, True):
        allowed = set(range(len(examples.keys)) if validation else examples.training)
        for number in examples.training:
            me = examples.keys[number]
            near = {
                i
                for i in allowed
                if (examples.keys[i].subject == me.subject)
                != (examples.keys[i].relation == me.relation)
            }
            pool = examples._pools[validation]
            assert set(pool.near(examples.keys, number)) == near
            drawn = [
                examples.keys.index(k) for k in pool.neighbours(examples.keys, number, rng, 40)
            ]
            assert set(drawn) <= allowed - {number}
            assert set(drawn[1::2]) - near
            if near:
                with_near += 1
                assert set(drawn[::2]) == near
    assert with_near > 5


def test_a_large_share_for_validation_leaves_some_to_train_on(pair, facts):
    examples = Examples(facts, pair[1], seed=0, val_share=0.99)
    assert len(examples.training) == 3


def test_too_few_facts_are_refused(pair, facts):
    with pytest.raises(HypernetworkError, match="needs 6 or more"):
        train(*pair, facts[:4], hparams())
