"""Refuse an edit of a fact that the model does not know: nothing would be measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...editing.errors import UnknownFactError
from ..formatting import least_of, short
from . import wordings

if TYPE_CHECKING:
    from .probe import ProbedFact
    from .resolved import Resolved

MEASURED_BY = {"likelihood": "p", "p": "sampled share"}
"""The measures by which a fact may be known, and their names in the message."""


def require(resolved: Resolved, pre: Sequence[ProbedFact]) -> None:
    """Refuse the edit if the edited fact is unknown, unless the request says `anyway`.

    A fact is known if its likelihood or its sampled share is at least the request's `known`. An
    appended answer has no old fact that would have to be known.

    Args:
        pre: the probed facts before the edit, with the edited one.

    Raises:
        UnknownFactError: says the probability, and another wording by which the fact is known.
    """
    request = resolved.request
    if request.anyway or request.rewrite.kind == "append":
        return
    edited = next(p for p in pre if p.question.role == "target_true")
    values = {m: edited.pre.values[m] for m in MEASURED_BY if m in edited.pre.values}
    least = request.options.known
    if not values or max(values.values()) >= least:
        return
    raise UnknownFactError(_text(values, least), remedy=_remedy(resolved, edited))


def _text(values: dict[str, float], least: float) -> str:
    given = ", ".join(
        f"{MEASURED_BY[measure]} = {_precise(value)}" for measure, value in values.items()
    )
    return (
        f"The model gives the edited fact {given} (known from {least_of(least)}): nothing to"
        " measure. Nothing was edited."
    )


def _precise(value: float) -> str:
    """A small probability with one significant digit: `.0003`, `2e-07`."""
    return short(value) if value == 0 or value >= 0.001 else f"{value:.1g}".removeprefix("0")


def _remedy(resolved: Resolved, edited: ProbedFact) -> str:
    request, loaded = resolved.request, resolved.model.loaded
    own = wordings.wording_of(loaded, request.probe)
    found = wordings.likelihoods(loaded, [edited.question], request.probe)
    known = {
        wording: value
        for wording, (value,) in found.items()
        if wording is not own and value is not None and value >= request.options.known
    }
    text = ""
    if known:
        best = max(known, key=lambda wording: known[wording])
        flags = f" (`{' '.join(best.flags)}`)" if best.flags else ""
        text = f"Asked as a {best.name}{flags} it has p = {short(known[best])}. "
        text = text.replace("as a paraphrases", "by its paraphrases")
    return (
        f"{text}`thinkeval probe {request.graph} --model {request.model}` lists the rewrites whose"
        ' fact is known; `thinkeval score --anyway` (REST: `"anyway": true`) edits it all the same.'
    )
