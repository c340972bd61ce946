"""Why a run found nothing: how many pairs, triplets and statements missed which threshold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..base.formatting import pluralize

if TYPE_CHECKING:
    from .candidates import Candidate
    from .crawl import Found, Pair
    from .schemas import SettledCrawl


def of_crawl(pairs: Sequence[Pair], start: Sequence[str], options: SettledCrawl) -> str:
    """Why no pair of a crawl gave a fact."""
    if not pairs:
        asked = f"No relation was asked of {', '.join(start)}"
        if options.depth == 0:
            return f"{asked}: the depth is 0."
        kinds = "stored with the graph" if options.gate == "stored" else "that the model gives"
        return f"{asked}: by the kinds {kinds} none is asked of it (--gate none asks all)."
    parts = []
    low = [pair for pair in pairs if pair.state == "unknown" and pair.objects]
    if low:
        best = max((pair.objects[0] for pair in low), key=lambda found: found.share)
        parts.append(
            f"{len(low)} below --pair-threshold, the best with {best.share:.2f} of"
            f" {options.pair_threshold:.2f} needed ({_triplet(best)})"
        )
    rest = [found for pair in pairs if pair.state == "known" for found in pair.objects]
    if rest:
        best = max(rest, key=lambda found: (found.agree, found.share))
        known = sum(pair.state == "known" for pair in pairs)
        parts.append(
            f"{known} whose objects are below --agreement or --object-threshold, the best named by"
            f" {best.agree:.2f} of the wordings of {options.agreement:.2f} needed and by"
            f" {best.share:.2f} of the answers of {options.object_threshold:.2f} needed"
            f" ({_triplet(best)})"
        )
    parts += _counted(
        ("answered without a name", sum(p.state == "unknown" and not p.objects for p in pairs)),
        ("declined by the model", sum(pair.state == "refused" for pair in pairs)),
    )
    return f"{pluralize(len(pairs), 'pair')} asked, no fact: {'; '.join(parts)}."


def of_growth(
    seed: Candidate | None, found: Iterable[Candidate], needed: float, statements: tuple[int, int]
) -> str:
    """Why no chain leads from the seed to its object.

    Args:
        found: all triplets of the run.
        needed: least fraction of answers that name the object.
        statements: of the model's reasoning, and those of them from which nothing was read.
    """
    sentences = []
    if seed is not None and seed.state != "validated":
        sentences.append(f"The seed is no fact: {_state(seed, needed)}.")
    others = [one for one in found if one is not seed]
    read, unparsed = statements
    if read or not sentences:
        sentences.append(
            f"{pluralize(read, 'statement')} of the reasoning, {unparsed} of them without a"
            f" triplet; {pluralize(len(others), 'further triplet')}."
        )
    failed = [one for one in others if one.state == "discarded" and one.share is not None]
    if failed:
        best = max(failed, key=lambda one: one.share or 0.0)
        sentences.append(
            f"{pluralize(len(failed), 'triplet')} below --pass: {_state(best, needed)}"
            f" ({' | '.join(best.triplet)})."
        )
    waiting = _counted(
        ("wait for review", sum(one.state == "review" for one in others)),
        ("declined by the model", sum(one.state == "refused" for one in others)),
    )
    return " ".join([*sentences, *(f"Triplets: {each}." for each in waiting)])


def _state(one: Candidate, needed: float) -> str:
    asked = pluralize(len(one.asked), "question")
    if one.share is None:
        return f"{one.reason or one.state} ({asked})"
    return f"{one.share:.2f} of the answers named its object, {needed:.2f} needed ({asked})"


def _counted(*counts: tuple[str, int]) -> list[str]:
    return [f"{n} {what}" for what, n in counts if n]


def _triplet(found: Found) -> str:
    return f"{found.subject} | {found.relation} | {found.object}"
