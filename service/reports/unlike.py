"""Differences in setup of two scored edits, beside their methods, which are compared."""

from __future__ import annotations

from collections.abc import Iterator

from ..models.edit import Measure, Score

_OPTIONS = ("max_steps", "bare", "threshold", "unit", "parallel", "rule", "known", "known_chain")
_SAMPLING = frozenset(
    {"samples", "measures", "max_new_tokens", "seed", "temperature", "top_p", "top_k"}
)
"""Options of a probe that only sampled answers depend on."""


def differences(a: Score, b: Score, measure: Measure) -> list[str]:
    """Return the name of each property that differs, with its values."""
    return [
        f"{what} {one} and {other}" for what, one, other in _pairs(a, b, measure) if one != other
    ]


def _pairs(a: Score, b: Score, measure: Measure) -> Iterator[tuple[str, object, object]]:
    for what in ("rewrite", "subject", "target_true", "model"):
        yield what, getattr(a, what), getattr(b, what)
    for what in _OPTIONS:
        if what == "threshold":  # None is what the measure makes of it
            yield what, a.options.threshold_for(measure), b.options.threshold_for(measure)
        else:
            yield what, getattr(a.options, what), getattr(b.options, what)
    yield "probe", *_only_differing(*(_probe(score, measure) for score in (a, b)))
    for what in ("seed", "graph_digest"):
        yield what, a.provenance.get(what), b.provenance.get(what)
    if a.model == b.model:
        one, other = (str(score.provenance.get("model", {}).get("digest"))[:12] for score in (a, b))
        yield "model", one, other


def _probe(score: Score, measure: Measure) -> dict[str, object]:
    """Return the settings of the probe that decide this measure."""
    settings = score.provenance.get("probe") or {}
    return {key: value for key, value in settings.items() if measure == "p" or key not in _SAMPLING}


def _only_differing(a: dict[str, object], b: dict[str, object]) -> tuple[str, str]:
    """Return the parts of two settings that are not alike, as texts."""
    keys = sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key))

    def parts(of: dict[str, object]) -> str:
        return ", ".join(f"{key} {_plain(of.get(key))}" for key in keys)

    return parts(a), parts(b)


def _plain(value: object) -> str:
    return " and ".join(map(str, value)) if isinstance(value, list) else str(value)
