"""Axes of a sweep: how they are read, the settings of a method, and the variants they are."""

from __future__ import annotations

from itertools import product

import pytest

from thinkeval.editing.errors import UnknownMethodError
from thinkeval.service.base.errors import UsageError
from thinkeval.service.models.edit import AppendOptions, AppendOut, EditOptions
from thinkeval.service.reports.by_kind import variant_of
from thinkeval.service.scoring.sweep import OPTIONS, Axis, read, settings


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


def test_a_value_is_one_of_its_option_or_hyperparameter() -> None:
    texts = ["append-loss=none, app", "alpha=0.5,1,0.5", "rome.layers=[3],[4]", "neighbours=1,all"]
    assert read(texts) == (
        Axis("append_loss", ("none", "app")), Axis("alpha", (0.5, 1.0)),
        Axis("layers", ([3], [4]), "rome"), Axis("neighbours", ("1", "all")),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("alpha", "is not NAME=VALUE"),
        ("alpha=", "is not NAME=VALUE"),
        ("=1", "is not NAME=VALUE"),
        ("alpha=-1", "alpha: '-1'"),
        ("alpha=0,", "alpha: ''"),
        ("neighbours=many", "neighbours: 'many'"),
        ("samples=1,2", "is no axis"),
        ("seed=1,2", "is no axis"),
        ("rome.v_lr=[", "cannot be read"),
    ],
)
def test_what_is_no_axis_is_refused(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem.replace("[", r"\[")):
        read([text])


def test_an_axis_of_no_method_or_given_twice_is_refused() -> None:
    with pytest.raises(UnknownMethodError):
        read(["roem.v_lr=1,2"])
    with pytest.raises(UsageError, match="given twice"):
        read(["alpha=1", "alpha=2"])


def test_no_option_of_probing_is_an_axis() -> None:
    assert {"append_loss", "alpha", "retain", "refusal", "anyway"} <= set(OPTIONS)
    assert not {"samples", "ask", "rule", "max_steps", "graph", "force", "model"} & set(OPTIONS)


def test_settings_are_the_product_of_the_axes_that_a_method_has() -> None:
    axes = read(["anyway=true", "rome.v_lr=0.1,0.5", "memit.v_lr=1", "rome.kl_factor=0,1"])
    found = settings(axes, "rome")
    assert [dict(each.overrides) for each in found] == [
        {"v_lr": lr, "kl_factor": kl} for lr, kl in product((0.1, 0.5), (0, 1))
    ]
    assert all(each.options == {"anyway": True} for each in found)
    assert found[0].label() == "v_lr=0.1, kl_factor=0"
    (memit,) = settings(axes, "memit")
    assert (memit.overrides, memit.label()) == ({"v_lr": 1}, "")
    assert len(settings((), "rome")) == 1


def test_a_method_has_the_losses_that_it_takes() -> None:
    axes = read(["append_loss=none,app,all-answers"])
    taken = {
        name: [each.options["append_loss"] for each in settings(axes, name)]
        for name in ("rome", "mend", "kn")
    }
    assert taken == {
        "rome": ["none", "app", "all-answers"],
        "mend": ["none", "app"],
        "kn": ["none"],
    }
    assert settings(axes, "rome")[1].label(AppendOptions.model_fields) == ""


def test_a_score_is_assigned_to_the_variant_it_was_scored_as() -> None:
    asked = {
        ("append_loss=none,all-answers,app",): ["bare", "+", "APP"],
        ("append_loss=app", "neighbours=0,1,5,all"): ["bare", "APP k=1", "APP k=5", "APP"],
        ("append_loss=app", "alpha=0"): ["APP −L1"],
        ("append_loss=app", "beta=0"): ["APP −L2"],
        ("append_loss=app", "gamma=0"): ["APP −L3"],
        ("append_loss=app", "alpha=0", "beta=0", "gamma=0"): ["bare"],
        ("append_loss=app", "app_lists=kept"): ["APP kept"],
    }
    for axes, names in asked.items():
        found = settings(read(axes), "rome")
        assert [variant_of(recorded(dict(each.options))) for each in found] == names
