"""The filter in Python against brute force; which options which kind of request takes."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from support.references.additivity import Asked, Column, filtered
from thinkeval.loaders.records import RewriteRequest
from thinkeval.service.base.errors import UsageError
from thinkeval.service.models.edit import AppendOut
from thinkeval.service.scoring import append
from thinkeval.service.scoring.append import PromptAnswers, both_sides, kept, prompts
from thinkeval.service.scoring.request import ScoreRequest

APPEND = RewriteRequest(
    id="a--r--z", dataset="d", prompt="{} made", subject="A", relation="made", target_true="X",
    target_new="Z", paraphrases=("Things by {}:", "All of it was made by"),
    neighborhood=("B made ",), neighborhood_objects=("Y",),
    correct=("X", "W"), hard=("V",), random=("U", "T"),
)  # fmt: skip
REPLACE = RewriteRequest(
    id="a--r--z", dataset="d", prompt="{} made", subject="A", relation="made", target_true="X",
    target_new="Z",
)  # fmt: skip


def checked(rewrite: RewriteRequest, **options: Any) -> None:
    append.check(ScoreRequest.of(rewrite, **options), rewrite)


def test_filter_keeps_what_brute_force_keeps() -> None:
    rng, counted = random.Random(3), 0
    for _ in range(500):
        scale = rng.choice((3, 10, 1000))
        lists: list[list[Column]] = [
            [(f"{i}", rng.randint(0, scale) / scale, 0.5) for i in range(rng.randint(0, most))]
            for most in (6, 12, 4)
        ]
        found = kept(*([p for _, p, _ in each] for each in lists))
        expected, missing = filtered(Asked("prompt", (0, 0), lists[0], lists[1], lists[2]))
        places = (found.correct, found.hard, found.random)
        chosen = [[each[i] for i in of] for each, of in zip(lists, places, strict=True)]
        assert chosen == expected
        assert found.counts == (missing is None)
        counted += found.counts
    assert 50 < counted < 450


def test_a_fifth_of_likelier_false_answers_drops_a_correct_one() -> None:
    hard = [0.5, 0.1, 0.1, 0.1, 0.1]
    assert kept([0.4, 0.5], hard, [0.0]).correct == (1,)
    assert kept([0.4, 0.5], [*hard, 0.1], [0.0]).correct == (0, 1)


def test_prompts_are_complete_and_rows_hold_both_sides() -> None:
    asked = prompts(APPEND, APPEND.neighbors)
    assert [(p.role, p.text) for p in asked] == [
        ("prompt", "A made"),
        ("paraphrase", "Things by A:"),
        ("paraphrase", "All of it was made by"),
        ("locality", "B made "),
    ]
    assert asked[0].names == ("Z", "X", "W", "V", "U", "T")
    assert asked[3].names == ("Z", "Y")
    pre = [PromptAnswers(asked[0], 0.1, (0.2, 0.3), (0.4,), (0.5, 0.6), None),
           PromptAnswers(asked[3], 0.1, (), (), (), 0.7)]  # fmt: skip
    first, near = both_sides(pre, pre)
    assert (first["correct"], first["correct_pre"]) == (["X", "W"], [0.2, 0.3])
    assert (first["random_post"], "right_pre" in first) == ([0.5, 0.6], False)
    assert (near["place"], near["right_post"], "hard" in near) == (1, 0.7, False)


@pytest.mark.parametrize(
    "options",
    [{"append_loss": "app"}, {"alpha": 0.5}, {"gamma": 0.0}, {"neighbours": "3"},
     {"app_lists": "kept"}],
)  # fmt: skip
def test_options_of_an_append_need_one(options: dict[str, Any]) -> None:
    checked(REPLACE)
    with pytest.raises(UsageError, match=next(iter(options))):
        checked(REPLACE, **options)
    checked(APPEND, **options)


def test_a_method_without_a_loss_takes_none() -> None:
    checked(APPEND, method="kn")
    for loss in ("app", "all-answers"):
        with pytest.raises(UsageError, match="kn takes no further loss"):
            checked(APPEND, method="kn", append_loss=loss)


def test_mend_takes_the_margin_of_app_in_training() -> None:
    checked(APPEND, method="mend", append_loss="app", alpha=0.3, beta=0.0)
    for options in ({"append_loss": "app", "beta": 0.1}, {"append_loss": "all-answers"}):
        with pytest.raises(UsageError, match="mend takes"):
            checked(APPEND, method="mend", **options)


def test_an_append_has_no_conversation() -> None:
    with pytest.raises(UsageError, match="old object"):
        checked(APPEND, conversation=True)


def test_identity_holds_what_the_loss_depends_on() -> None:
    sizes: dict[str, Any] = {"n_correct": 2, "n_hard": 1, "n_random": 2}
    assert append.identity(AppendOut(**sizes)) == {"loss": "none"}
    app = AppendOut(loss="app", alpha=0.1, beta=0.2, gamma=0.3, neighbours="3", **sizes)
    assert append.identity(app) == {
        "loss": "app", "alpha": 0.1, "beta": 0.2, "gamma": 0.3, "neighbours": "3", "lists": "all"
    }  # fmt: skip


def test_an_answer_that_is_correct_already_is_appended_only_where_that_is_said() -> None:
    known = replace(APPEND, target_new="W")
    with pytest.raises(UsageError, match="'W' is a correct answer of 'a--r--z' already"):
        checked(known)
    checked(known, allow_known=True)
    checked(APPEND, allow_known=True)
    with pytest.raises(UsageError, match="allow_known"):
        checked(REPLACE, allow_known=True)
