"""The search of `model tune`: strengths against brute force over a fine grid, and the facts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import pytest

from thinkeval.editing.errors import EditFailedError
from thinkeval.loaders.records import Fact
from thinkeval.service.scoring.tuning import (
    CLOSE,
    EDITS,
    FACTS,
    HELD_OUT,
    KNOBS,
    LEAST,
    REACHED,
    RUIN,
    SETTINGS,
    Outcome,
    Search,
    rewrites_of,
)

Edit = Callable[[float, int], Outcome]


def rising(half: float, damage: float) -> Edit:
    """Efficacy 1 − 2^(−strength / half), less for later facts; KL grows with the strength."""

    def edit(strength: float, place: int) -> Outcome:
        return Outcome(1 - 2 ** (-strength / (half * (1 + place / 20))), damage * strength)

    return edit


def reaches(edit: Edit, strength: float) -> bool:
    found = [edit(strength, place) for place in range(FACTS)]
    efficacy = [each.efficacy for each in found]
    kl = sum(each.kl or 0 for each in found) / FACTS
    return sum(efficacy) / FACTS >= REACHED and min(efficacy) >= LEAST and kl < RUIN


def search(edit: Edit, *, free: bool = True) -> Search:
    found = Search(edit, lambda strength, place: free)
    found.run()
    return found


@pytest.mark.parametrize("half", [0.05, 0.1, 0.29, 0.3, 0.6, 1.0])
def test_the_gentlest_setting_is_found_as_by_a_fine_grid(half: float) -> None:
    edit = rising(half, 0.01)
    found = search(edit)
    grid = [2 ** (i / 100) for i in range(-800, 800)]
    least = next(strength for strength in grid if reaches(edit, strength))
    assert found.best is not None
    assert least / 1.01 <= found.best.strength <= least * CLOSE**2
    assert len(found.trials) <= SETTINGS
    assert all(reaches(edit, t.strength) == t.reaches(FACTS) for t in found.trials)


def test_a_budget_of_edits_is_kept_and_no_setting_is_left_half_tried() -> None:
    for half in (0.05, 0.3, 1.0, 3.0, 100.0):
        count: Counter[float] = Counter()
        edit = rising(half, 0.0001)

        def counted(
            strength: float, place: int, edit: Edit = edit, count: Counter[float] = count
        ) -> Outcome:
            count[strength] += 1
            return edit(strength, place)

        found = search(counted, free=False)
        assert sum(count.values()) == found.spent <= EDITS - HELD_OUT
        for trial in found.trials:
            best = found.best
            dearer = best is not None and trial is not best
            assert len(trial.efficacy) == FACTS or trial.misses(FACTS) or dearer


def test_what_cannot_reach_without_ruin_is_a_failure_with_the_best_that_does_not_ruin() -> None:
    found = search(rising(1.0, 0.03))
    assert found.best is None
    nearest = found.nearest
    assert nearest is not None
    assert not nearest.ruins
    assert nearest.mean == max(t.mean for t in found.trials if not t.ruins)
    assert nearest.mean < REACHED


def test_one_fact_far_below_the_others_is_a_miss() -> None:
    found = search(lambda strength, place: Outcome(0.4 if place == 0 else 1.0, 0.001))
    assert found.best is None
    assert all(len(trial.efficacy) == 1 for trial in found.trials)


def test_a_setting_that_loses_the_facts_around_ruins_whatever_its_texts_say() -> None:
    def edit(strength: float, place: int) -> Outcome:
        around = None if place == 0 else 0.9 if strength < 0.3 else 0.6
        return Outcome(min(1.0, strength * 4), 0.0001, around)

    found = search(edit)
    assert found.best is not None
    assert found.best.strength < 0.3
    assert found.best.kept == pytest.approx(0.9)
    assert all(trial.ruins for trial in found.trials if trial.strength >= 0.3 and trial.kept)


def test_a_method_that_fails_at_a_strength_is_tried_at_gentler_ones() -> None:
    def edit(strength: float, place: int) -> Outcome:
        if strength > 3:
            raise EditFailedError("the loss became NaN")
        return Outcome(min(1.0, 0.33 * strength), 0.001)

    found = search(edit)
    assert found.best is not None
    assert 2.7 < found.best.strength <= 3
    assert [t.failed for t in found.trials if t.strength > 3] == ["the loss became NaN"]


def test_an_interrupted_search_keeps_what_it_has() -> None:
    calls = 0

    def edit(strength: float, place: int) -> Outcome:
        nonlocal calls
        calls += 1
        if calls == FACTS + 2:
            raise KeyboardInterrupt
        return Outcome(0.97, 0.001 * strength)

    found = Search(edit, lambda strength, place: False)
    with pytest.raises(KeyboardInterrupt):
        found.run()
    assert found.best is not None
    assert (found.best.strength, found.best.mean_kl) == (1.0, pytest.approx(0.001))


STARTS = {
    "rome": {"v_lr": None, "v_step": 0.1},
    "memit": {"v_step": 0.1, "update_share": 0.95},
    "alphaedit": {"v_lr": 0.5, "nullspace_rank": 0.7, "nullspace_threshold": None},
    "fine_tuning": {"lr": 5e-4, "norm_constraint": False},
    "ultraedit": {"eta": None, "value_length": 10.0},
}


@pytest.mark.parametrize("method", KNOBS)
def test_a_strength_of_one_changes_nothing_and_others_are_ordered(method: str) -> None:
    start = STARTS[method]
    assert KNOBS[method](start, 1.0).items() <= start.items()
    for low, high in ((0.25, 0.5), (0.5, 1.5), (2.0, 4.0)):
        gentle, strong = KNOBS[method](start, low), KNOBS[method](start, high)
        assert all(gentle.get(key, start[key]) < strong[key] for key in gentle)


def test_published_constants_are_scaled_too() -> None:
    assert KNOBS["memit"]({"mom2_update_weight": 15000, "v_lr": 0.5}, 0.5) == {
        "mom2_update_weight": 60000.0
    }
    assert KNOBS["alphaedit"]({"nullspace_threshold": 0.02, "v_lr": 0.1}, 2.0) == {
        "nullspace_threshold": 0.04,
        "v_lr": 0.2,
    }
    bounded = KNOBS["fine_tuning"]({"lr": 1e-3, "norm_constraint": 2e-4}, 0.5)
    assert bounded == {"lr": 5e-4, "norm_constraint": 1e-4}
    share = KNOBS["memit"]({"update_share": 0.95, "v_step": 0.1}, 0.5)["update_share"]
    assert math.isclose(share / (1 - share), 19 / 4, rel_tol=1e-3)


def fact(subject: str, relation: str, object_: str) -> Fact:
    return Fact(subject=subject, relation=relation, object=object_, prompt=f"{{}} {relation}")


def test_facts_differ_in_subject_and_relation_and_new_objects_are_of_the_relation() -> None:
    facts = [
        fact(f"s{i}", f"r{i % 4}", f"o{i % 4}-{j}") for i in range(40) for j in (i % 3, i % 3 + 1)
        if j == i % 3 or i == 39
    ]  # fmt: skip
    known = {each.id for each in facts if each.subject != "s5"}
    edited = {f"s{i}" for i in range(0, 40, 2)}
    chosen = rewrites_of("g", facts, known, edited, 0)
    assert len(chosen) == FACTS + HELD_OUT == len({each.subject for each in chosen})
    assert max(Counter(each.relation for each in chosen).values()) == 2
    answers = {(f.subject, f.relation): f.object for f in facts}
    for each in chosen:
        assert each.subject not in ("s5", "s39")
        assert answers[each.subject, each.relation] == each.target_true != each.target_new
        assert each.target_new in {f.object for f in facts if f.relation == each.relation}
    odd = [each for each in chosen if each.relation in ("r1", "r3")]
    assert odd
    assert not {each.subject for each in odd} & edited
    assert chosen == rewrites_of("g", facts, known, edited, 0)
    assert rewrites_of("g", facts, set(), edited, 0) == []
