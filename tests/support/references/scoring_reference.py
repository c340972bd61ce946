"""Every metric of a score by brute force, for tests."""

from __future__ import annotations

from typing import Any

import pytest

from support.references import reference as ref
from thinkeval.service.models.edit import Score


def expected(
    edges: list[ref.Edge], score: Score, measure: str, unit: str, bare: str = "listed"
) -> dict[tuple[str, int | None], ref.Value]:
    """Compute every metric by brute force from the values on the edit graph's edges."""
    asked = ref.Case(score.subject, score.target_true, None, score.relation)
    steps = score.options.max_steps
    # README: a chain survives when R' > 0 for sampled probabilities, R' > 0.01 R for likelihoods.
    threshold = 0.0 if measure == "p" else 0.01
    of = ref.chains(edges, asked, steps, bare, walk=True)
    active = ref.active(of, steps, threshold)
    many = {
        "ifr_by_steps": ref.ifr_by_steps(of, steps),
        "active_chains": active,
        "deep_edited": ref.deep_edited(of, steps, threshold),
        "chains_by_steps": {
            n: ref.Value(float(len(found)), len(found))
            for n, found in ref.by_length(of, steps).items()
        },
    }
    one = {
        "ifr": ref.ifr(of),
        "ifr_published": ref.ifr_published(of, steps),
        "preservation": ref.preservation(edges, asked, steps, bare, unit),
        "preservation_symmetric": ref.preservation_symmetric(edges, asked, steps, bare, walk=True),
        "known_before": ref.known_before(edges, asked),
        "efficacy_before": ref.efficacy_before(edges, asked),
        "subject_retention": ref.subject_retention(
            ref.scope(edges, asked, steps, bare, walk=True), asked
        ),
        "ifr_beyond_subject": ref.ifr_beyond_subject(of, asked),
        "efficacy": ref.efficacy(edges, asked),
        "efficacy_score": ref.efficacy_score(edges, asked),
        "generalization": ref.generalization(edges, asked),
        "generalization_score": ref.generalization_score(edges, asked),
        "specificity": ref.specificity(edges, asked),
    }
    if score.kind == "forget":
        absent = (
            "efficacy", "efficacy_before", "efficacy_score", "generalization",
            "generalization_score",
        )  # fmt: skip
        one = {name: value for name, value in one.items() if name not in absent}
        one |= {name: f(edges, asked) for name, f in ref.FORGOTTEN.items()}
    else:
        one |= {name: f(edges, asked) for name, f in ref.COUNTERFACT.items()}
    found = {(name, n): value for name, values in many.items() for n, value in values.items()}
    return found | {(name, None): value for name, value in one.items()}


def same(found: dict[tuple[str, int | None], Any], wanted: dict[Any, ref.Value]) -> None:
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        if value.value is None:
            assert found[key].value is None, key
        else:
            assert found[key].value == pytest.approx(value.value, rel=1e-9, abs=1e-9), key
        assert (found[key].n, found[key].excluded) == (value.n, value.excluded), key
