"""The review queue at the terminal: one candidate after the other, one key each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ...errors import ServiceError
from ...growth import decisions
from ...growth.review import log, queue
from ...growth.review.decision_files import read_triplet
from .render_review import triplet_text

if TYPE_CHECKING:
    from ....cypher.run import Database
    from ...growth.review.schemas import CandidateDetail
    from ...settings import Settings

KEYS = "k keep, p prune, c correct, a add a triplet, s skip, q quit"
SHOWN = 5
"""Answers of each kind that are shown."""


def ask(db: Database, settings: Settings, run: str, name: str) -> int:
    """Ask about each candidate that waits; the number of decisions."""
    typer.echo(KEYS)
    cursor, decided = None, 0
    while True:
        page = queue.page(db, run, log.WAITING, limit=20, cursor=cursor)
        for each in page.items:
            _show(queue.detail(db, run, each.id))
            key = _key(db, settings, run, each.id, name)
            if key == "q":
                return decided
            decided += key != "s"
        cursor = page.next
        if cursor is None:
            return decided


def _show(found: CandidateDetail) -> None:
    typer.echo(f"\n{found.id}  {triplet_text(found.corrected or found)}")
    typer.echo(f"  {found.state}: {found.reason or '–'}")
    if found.judged:
        correction = f" → {triplet_text(found.judge_corrected)}" if found.judge_corrected else ""
        typer.echo(f"  judge: {found.judged}{correction}")
    for text in found.statements:
        typer.echo(f"  statement: {text}")
    answers = [each for each in found.evidence if each.role == "validation"]
    for each in answers[:SHOWN]:
        typer.echo(f"  {each.question} → {each.answer}")
    for each in found.decisions:
        typer.echo(f"  decided before: {each.verb} by {each.by}")


def _key(db: Database, settings: Settings, run: str, candidate: str, name: str) -> str:
    """Ask until the candidate is decided, skipped, or the review ended; the key."""
    while True:
        key = typer.prompt("k p c a s q").strip().casefold()[:1]
        if key in ("s", "q"):
            return key
        try:
            if key == "a":
                decisions.add(db, settings, run, _asked(), name)
                continue
            if key == "c":
                decisions.decide(db, settings, run, candidate, "correct", name, after=_asked())
                return key
            if key in ("k", "p"):
                verb = "keep" if key == "k" else "prune"
                why = typer.prompt("why", default="", show_default=False) if key == "p" else ""
                decisions.decide(db, settings, run, candidate, verb, name, reason=why or None)
                return key
        except ServiceError as error:
            typer.echo(f"  {error.detail} → {error.remedy}")
            continue
        typer.echo(KEYS)


def _asked() -> log.Triplet:
    return read_triplet(typer.prompt("SUBJECT|RELATION|OBJECT"))
