"""A leak cut in words."""

from __future__ import annotations

from typing import Any

import pytest

from thinkeval.service.leakcut import words
from thinkeval.service.models.leakcut import CutFact, CutIn, CutOut, OpenPath

FACT = CutFact(
    id="1", subject="Ron", relation="studied at", object="Hogwarts", prompt="{} studied at",
    pre=0.9, post=0.8, closes=83, alone=83, share=0.5, collateral=0.0, n_collateral=0, cost=1.05,
)  # fmt: skip
OPEN = OpenPath(entities=["Harry", "Ron", "Hogwarts"], facts=["0", "1"], why="it is locked")


def cut(n: int = 1, **changed: Any) -> CutOut:
    """A cut of so many facts."""
    facts = [FACT.model_copy(update={"id": str(i + 1)}) for i in range(n)]
    values: dict[str, Any] = {
        "edit": "e", "graph": "g", "rewrite": "r", "subject": "Harry", "relation": "studied at",
        "target_true": "Hogwarts", "target_new": "Durmstrang", "model": "organism-gpt2-seed1",
        "method": "memit", "measure": "likelihood", "options": CutIn(), "paths": 103, "known": 103,
        "leaking": 90,
        "chains": 103, "chains_leaking": 83, "surviving": 91,
        "ifr": 0.4, "expected": 0.03, "facts": facts, "cost": n / 0.95,
        "bound": n / 0.95, "optimal": True, "seconds": 0.1, "keys": "subject",
        "names": {"1": ("Ron", "studied at", "Hogwarts"), "9": ("Luna", "knows", "Ron")},
    }  # fmt: skip
    return CutOut(**values | changed)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            cut(5),
            "5 further facts close all 83 of 91 surviving chains that keep more than 10 % (proved"
            " fewest); IFR 0.400 → about 0.030 if each takes.",
        ),
        (
            cut(1, chains_leaking=1),
            "1 further fact closes the one chain that keeps more than 10 % (proved fewest); IFR"
            " 0.400 → about 0.030 if each takes.",
        ),
        (
            cut(2, edit=None, ifr=None, expected=None),
            "2 further facts close all 83 chains that lead to Hogwarts (proved fewest).",
        ),
        (
            cut(2, open=[OPEN], expected=None, surviving=None),
            "2 further facts close 82 of the 83 chains that keep more than 10 % (proved fewest of"
            " what is allowed).",
        ),
        (
            cut(5, optimal=False, bound=3.5, expected=None),
            "5 further facts close all 83 of 91 surviving chains that keep more than 10 % (not"
            " proved fewest in 5 s: at least 4 are needed).",
        ),
        (
            cut(1, optimal=False, bound=1, expected=None, options=CutIn(collateral=1)),
            "1 further fact closes all 83 of 91 surviving chains that keep more than 10 % (not"
            " proved cheapest: cost 1.053, at least 1.000).",
        ),
        (
            cut(0, chains_leaking=1, open=[OPEN]),
            "No allowed fact closes the one chain that keeps more than 10 %.",
        ),
        (
            cut(0, chains_leaking=0),
            "Nothing to cut: of 103 chains none keeps more than 10 % of its reliability.",
        ),
        (
            cut(0, chains_leaking=0, paths=0, chains=0),
            "Nothing to cut: no chain leads from Harry to Hogwarts besides the edited fact.",
        ),
    ],
)
def test_headlines(found: CutOut, said: str) -> None:
    assert words.headline(found) == said


def test_limits_name_every_lock() -> None:
    limits = words.limits(cut(options=CutIn(lock=("Ron", "Luna"), not_subject=True)))
    assert limits == (
        "At most one fact a subject is edited, and no other fact about Harry; no fact about Harry;"
        " locked: Ron, Luna."
    )


def test_other_cuts_by_what_they_exchange() -> None:
    assert words.others(cut(alternatives=[["9"], ["1", "7"]])) == [
        ("Ron studied at Hogwarts", "Luna knows Ron"),
        ("", "7"),
    ]


def test_the_command_tries_the_listed_facts_by_the_options_that_list_them() -> None:
    options = CutIn(lock=("Luna Lovegood",), only_subject=True, leak=0.2, keys="off")
    said, command = words.next_step(cut(6, options=options))
    assert said == "Try up to 4 of them, one a round, and score again:"
    assert command == (
        "thinkeval lab coedit r -g g -m memit --model organism:gpt2:seed=1 --leak 0.2 --lock"
        " 'Luna Lovegood' --only-subject --keys off"
    )
    assert words.next_step(cut(3))[0] == "Try them, one a round, and score again:"
    assert words.next_step(cut(1))[0] == "Edit it too, and score again:"
    assert (
        words.next_step(cut(edit=None, model=None, method=None))[1] == "thinkeval lab coedit r -g g"
    )


@pytest.mark.parametrize(
    ("changed", "command"),
    [
        ({"measure": "p"}, "thinkeval lab leakcut e --measure likelihood"),
        ({"rewrite": "own:1a2b"}, "thinkeval lab leakcut e"),
        ({"target_new": ""}, "thinkeval lab leakcut e"),
        ({"method": "compare:x"}, "thinkeval lab leakcut e"),
    ],
)
def test_where_a_co_edit_would_try_other_facts_the_list_is_named(
    changed: dict[str, Any], command: str
) -> None:
    assert words.next_step(cut(6, **changed))[1] == command


def test_what_is_promised_is_of_the_facts_that_the_command_edits() -> None:
    facts = [FACT.model_copy(update={"id": str(i), "expected": 0.3 - i / 20}) for i in range(6)]
    found = cut(facts=facts)
    assert words.promise(found, 3) == (
        "Editing these 3 facts too should lower IFR from 0.400 to about 0.200, if each takes."
    )
    assert words.promise(found, 1).startswith("Editing this fact too should")
    assert (
        words.promise(cut(2, ifr=None), 2) == "Editing these 2 facts too closes ways to Hogwarts."
    )


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (0, "Nothing to cut: the model knows 0 of 103 chains."),
        (
            7,
            "Nothing to cut: of 103 chains none that the model knew keeps more than 10 % of its"
            " reliability.",
        ),
        (103, "Nothing to cut: of 103 chains none keeps more than 10 % of its reliability."),
    ],
)
def test_chains_that_the_model_never_knew_are_no_leaks(known: int, said: str) -> None:
    found = cut(0, leaking=0, chains_leaking=0, known=known, ifr=None, expected=None)
    assert words.headline(found) == said
