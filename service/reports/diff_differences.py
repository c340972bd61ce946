"""In what two scored edits were not made or scored alike, and what that does to their diff."""

from __future__ import annotations

from collections.abc import Iterator

from thinkeval.service.reports.schemas import Difference
from thinkeval.service.scoring.metrics import threshold
from thinkeval.service.schemas import Measure, Score

_NOT_COMPARED = "Chains are not compared: they start or end at other entities."
_REWRITE = (
    "They are different rewrites: of the facts, only those are compared that both graphs hold."
)
_OPTIONS: dict[str, str] = {
    "max_steps": "Longer chains count in one of them only.",
    "bare": "The edited fact by itself counts as a chain in one of them only.",
    "threshold": "A chain is called cut at different strengths.",
    "unit": "Preservation is pooled in different ways.",
}


def differences(a: Score, b: Score, measure: Measure) -> list[Difference]:
    """What is not alike, told symmetrically; the methods are left out, as they are the question."""
    told = [
        *_of_rewrite(a, b),
        _where("model", (a.model, b.model), "The probabilities before the edits differ too."),
        *_of_options(a, b, measure),
        *_of_provenance(a, b),
    ]
    return [each for each in told if each is not None]


def _where(what: str, values: tuple[object, object], note: str) -> Difference | None:
    if values[0] == values[1]:
        return None
    return Difference(what=what, a=str(values[0]), b=str(values[1]), note=note)


def _of_rewrite(a: Score, b: Score) -> Iterator[Difference | None]:
    yield _where("rewrite", (a.rewrite, b.rewrite), _REWRITE)
    for end in ("subject", "target_true"):
        yield _where(end, (getattr(a, end), getattr(b, end)), _NOT_COMPARED)


def _of_options(a: Score, b: Score, measure: Measure) -> Iterator[Difference | None]:
    for what, note in _OPTIONS.items():
        values = getattr(a.options, what), getattr(b.options, what)
        if what == "threshold":  # None is what the measure makes of it
            values = threshold(a.options, measure), threshold(b.options, measure)
        yield _where(what, values, note)


def _of_provenance(a: Score, b: Score) -> Iterator[Difference | None]:
    for what, note in {
        "probe": "The facts were asked in other ways, so part of every delta may come from that.",
        "graph_digest": "The data set was changed between them: the graphs may hold other facts.",
    }.items():
        values = a.provenance.get(what), b.provenance.get(what)
        yield _where(what, _only_differing(*values), note)
    weights = [str(s.provenance.get("model", {}).get("weights_digest"))[:12] for s in (a, b)]
    if a.model == b.model:
        yield _where(
            "weights", (weights[0], weights[1]), "They are models of one name with other weights."
        )
    yield _of_formulas(a, b)


def _of_formulas(a: Score, b: Score) -> Difference | None:
    """Metrics whose queries changed between the two scores."""
    one, other = (score.provenance.get("queries", {}) for score in (a, b))
    changed = sorted(q for q in one.keys() & other.keys() if one[q] != other[q])
    if not changed:
        return None
    versions = [str(s.provenance.get("created_at")) for s in (a, b)]
    names = ", ".join(changed)
    return Difference(
        what="scored at",
        a=versions[0],
        b=versions[1],
        note=f"The queries changed in between ({names}); score both again to be sure.",
    )


def _only_differing(a: object, b: object) -> tuple[object, object]:
    """Of two settings the parts that are not alike, as texts; other values as they are."""
    if not (isinstance(a, dict) and isinstance(b, dict)):
        return a, b
    keys = sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key))

    def told(of: dict[str, object]) -> str:
        return ", ".join(f"{key} {_plain(of.get(key))}" for key in keys)

    return told(a), told(b)


def _plain(value: object) -> str:
    return " and ".join(map(str, value)) if isinstance(value, list) else str(value)
