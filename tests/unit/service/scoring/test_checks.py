"""Verdicts on replies to the questions of a data set, and the items that they make."""

from __future__ import annotations

import pytest

from thinkeval.loaders.records import Check
from thinkeval.service.scoring.checks import Replies, judged, verdict

ROME = Check("multi_hop", "Where?", ("Rome", "Roma"), old_answers=("Paris",), wrong=("Oslo",))


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("It is Rome.", True), ("roma", True), ("Paris", False), ("Paris, not Rome", False),
        ("Oslo or Rome?", None), ("I do not know.", False), ("", False), (None, None),
        ("Rome. Or Paris.", True), ("not Rome", False),
    ],
)  # fmt: skip
def test_the_first_answer_of_a_reply_counts(reply: str | None, expected: bool | None) -> None:
    assert verdict(ROME, reply) is expected


def test_all_further_answers_are_needed() -> None:
    both = Check("x", "Which?", ("Rome",), further=(("Milan", "Milano"), ("Turin",)))
    assert verdict(both, "Rome, Milano and Turin.")
    assert verdict(both, "Rome and Milan.") is False
    assert verdict(Check("fluency", "Say.", ()), "Rome") is None


def test_rows_have_the_verdicts_of_both_models_and_of_the_conditions() -> None:
    holds = Check("condition", "Capital?", ("Rome",))
    checks = (
        Check("a", "Where?", ("Rome",), group="1", old_answers=("Paris",), conditions=(holds,)),
        Check("a", "Which?", ("Rome",), conditions=(holds, Check("c", "River?", ("Po",)))),
        Check("b", "Long?", ("Rome",), pre=0.25, post=1.0),
    )
    pre = {"Where?": "Paris", "Which?": "Oslo", "Long?": None, "Capital?": "Rome", "River?": "Po"}
    post = {"Where?": "Rome", "Which?": "Paris", "Long?": None}
    rated = {checks[2]: 0.5}
    one, two, three = judged(checks, Replies(pre), Replies(post, rated))
    assert (three["ratio_pre"], three["ratio_post"], two["ratio_post"]) == (None, 0.5, None)
    shown = ("item", "met", "right_pre", "right_post", "old_pre", "old_post")
    assert [one[name] for name in shown] == ["1", True, False, True, True, False]
    assert [two[name] for name in shown] == ["question 1", True, False, False, None, None]
    assert [three[name] for name in shown] == ["question 2", True, None, None, None, None]
    assert (three["stated_pre"], three["stated_post"], three["text_post"]) == (0.25, 1.0, "")
    river = judged(checks, Replies(pre | {"River?": "the Tiber"}), Replies(post))[1]
    assert river["met"] is False
