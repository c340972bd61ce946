"""The variants of a method: chosen by name, and read off a score."""

from __future__ import annotations

import pytest

from thinkeval.service.append_schemas import AppendOut
from thinkeval.service.errors import UsageError
from thinkeval.service.schemas import EditOptions
from thinkeval.service.scoring.append.variants import chosen, variant_of


def recorded(changes: dict[str, object]) -> AppendOut:
    """Return the record of a score with these options; the model's weights are .2, .5, .2."""
    options = EditOptions(**changes)  # type: ignore[arg-type]
    weights = {}
    if options.append_loss == "app":
        named = {"alpha": options.alpha, "beta": options.beta, "gamma": options.gamma}
        published = {"alpha": 0.2, "beta": 0.5, "gamma": 0.2}
        weights = {k: published[k] if v is None else v for k, v in named.items()}
    return AppendOut(
        loss=options.append_loss, neighbours=options.neighbours, lists=options.app_lists,
        n_correct=3, n_hard=2, n_random=2, **weights,
    )  # fmt: skip


def test_the_three_variants_are_chosen_where_none_is_named() -> None:
    assert [variant.name for variant in chosen([])] == ["bare", "+", "APP"]


def test_a_score_is_assigned_to_the_variant_it_was_scored_as() -> None:
    variants = chosen([], numbers=["0", "1", "5", "all"], ablate=True)
    names = [variant.name for variant in variants]
    assert names == ["bare", "+", "APP", "APP k=1", "APP k=5", "APP −L1", "APP −L2", "APP −L3"]
    assert [variant_of(recorded(dict(variant.changes))) for variant in variants] == names


def test_app_without_answers_or_weights_is_the_bare_method() -> None:
    assert variant_of(recorded({"append_loss": "app", "neighbours": "0"})) == "bare"
    off = {"append_loss": "app", "alpha": 0, "beta": 0, "gamma": 0}
    assert variant_of(recorded(off)) == "bare"


@pytest.mark.parametrize(("names", "numbers"), [(["plus"], []), ([], ["many"]), ([], ["-1"])])
def test_what_is_no_variant_is_refused(names: list[str], numbers: list[str]) -> None:
    with pytest.raises(UsageError):
        chosen(names, numbers=numbers)
