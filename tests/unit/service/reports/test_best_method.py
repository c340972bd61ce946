"""The edit that a reader should look at, and why."""

from __future__ import annotations

from thinkeval.service.models.edit import MetricValue, Score
from thinkeval.service.reports.verdict import best_method, rank

METRICS = (
    "efficacy", "ifr", "subject_retention", "ifr_beyond_subject", "preservation_symmetric",
)  # fmt: skip


def scored(method: str, *values: float | None) -> Score:
    """A score by likelihood; the values are those of METRICS, the last may be missing."""
    return Score(
        edit=f"{method}-edit", dataset="d", rewrite="r", subject="s", relation="r", prompt="{} r",
        target_true="o", target_new="n", model="m", method=method, n_facts=3,
        values=[
            MetricValue(metric=name, measure="likelihood", step=None, value=value, n=1)
            for name, value in zip(METRICS, values, strict=False)
        ],
    )  # fmt: skip


FORGETS = scored("rome", 0.99, 0.4, 0.3, 0.95)
KEEPS = scored("fine_tuning", 0.95, 0.6, 0.98, 0.65)
NOTHING = scored("none", 0.0, 0.0, 1.0, 1.0)


def test_the_lowest_ifr_of_the_edits_that_took_and_kept_the_model() -> None:
    lower = scored("memit", 0.99, 0.4, 0.9, 0.95)
    found = best_method([KEEPS, lower, NOTHING], "likelihood")
    assert (found.score.method, found.kept) == ("memit", True)
    assert "of the 2 edits that took (of 3), it leaves the least" in found.why
    assert "even so 40 % of that fact can still be deduced (IFR 0.400)" in found.why


def test_an_edit_that_loses_the_subject_comes_after_one_that_keeps_it() -> None:
    found = best_method([FORGETS, KEEPS, NOTHING], "likelihood")
    assert found.score.method == "fine_tuning"
    assert found.why.startswith("of the 2 edits that took (of 3), 1 kept the model; even so 60 %")


def test_where_none_kept_the_model_the_one_that_did_the_least_damage() -> None:
    worse = scored("kn", 0.99, 0.0, 0.1, 0.95)
    found = best_method([worse, FORGETS, NOTHING], "likelihood")
    assert (found.score.method, found.kept) == ("rome", False)
    assert found.why == (
        "none of the 2 edits that took (of 3) kept the model; it did the least damage: the other"
        " facts about s keep 30 % of their probability."
    )
    assert [score.method for score in rank([NOTHING, worse, KEEPS, FORGETS], "likelihood")] == [
        "fine_tuning", "rome", "kn", "none"
    ]  # fmt: skip


def test_an_edit_that_keeps_the_subject_is_not_said_to_forget_it() -> None:
    found = best_method([KEEPS, NOTHING], "likelihood")
    assert found.score.method == "fine_tuning"
    assert found.why.startswith("it is the only edit of 2 that took")
    assert "forgetting" not in found.why


def test_where_no_edit_took_the_most_effective_one() -> None:
    weak = scored("prune", 0.2, 0.1, 1.0, 0.1)
    found = best_method([NOTHING, weak], "likelihood")
    assert found.score.method == "prune"
    assert (
        "no edit took (efficacy from 0.5, and more than before); prune came nearest with 0.200."
        in found.why
    )


def test_an_edit_without_ifr_comes_last() -> None:
    undefined = scored("mend", 0.9, None, None, None)
    assert best_method([undefined, KEEPS], "likelihood").score.method == "fine_tuning"
    assert best_method([undefined], "likelihood").why == "it took; IFR is undefined."


def test_an_ifr_of_nearly_nothing_is_said_so() -> None:
    found = best_method([scored("rome", 0.99, 0.0004, 0.9, 0.1), KEEPS], "likelihood")
    assert "the old fact; nearly nothing of that fact can still be deduced (IFR 0.000)" in found.why


def test_an_edit_that_breaks_the_facts_around_it_is_not_the_best() -> None:
    breaks = scored("fine_tuning", 0.99, 0.01, 1.0, 0.01, 0.53)
    rome, memit = (
        scored(name, 0.98, ifr, 0.9, ifr, 0.94) for name, ifr in (("rome", 0.2), ("memit", 0.3))
    )
    found = best_method([breaks, memit, rome, NOTHING], "likelihood")
    assert found.score == rome
    assert found.why.startswith(
        "of the 3 edits that took (of 4), 2 kept the model, of which it leaves the least of the old"
        " fact; even so 20 %"
    )
    found = best_method([breaks, NOTHING, NOTHING], "likelihood")
    assert found.why.startswith("it is the only edit of 3 that took, but broke the model: ")
    assert best_method([breaks], "likelihood").why.startswith("it took, but broke the model: ")
    found = best_method([breaks, rome], "likelihood")
    assert found.why.startswith("of the 2 edits that took (of 2), 1 kept the model;")
    assert best_method([breaks, NOTHING], "likelihood").score == breaks


def test_the_last_digits_of_a_sum_choose_no_method() -> None:
    memit = scored("memit", 0.99, 0.6520907618968177, 0.98, 0.66)
    prune = scored("prune", 0.99, 0.6520907618968176, 0.98, 0.66)
    assert best_method([memit, prune], "likelihood").score.method == "memit"
    lower = scored("rect", 0.99, 0.652090, 0.98, 0.66)
    assert best_method([memit, prune, lower], "likelihood").score.method == "rect"
