"""Growth runs made by hand: candidates with statements and answers, as the loop stores them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database


def candidate(place: int, **given: Any) -> dict[str, Any]:
    """A candidate that waits for a person; its id is `c` and its place."""
    return {
        "id": f"c{place}",
        "kind": "triplet",
        "subject": f"Subject {place}",
        "relation": "studied at",
        "object": f"Object {place}",
        "prompt": "{} studied at",
        "question": f"Where did Subject {place} study?",
        "state": "review",
        "reason": "found in a chain of thought",
        "tries": 1,
        "share": 0.6,
        "n_answers": 5,
        "iteration": 1 + place // 4,
        "place": place,
        "statements": [],
        "queries": [],
        "checks": None,
    } | given


def answer(name: str, query: str, text: str, *, kind: str = "cot", sample: int = 0) -> Any:
    """A stored answer of a model."""
    return {
        "id": name, "query": query, "kind": kind, "question": f"Question {query}?",
        "messages": "{}", "sample": sample, "text": text, "finish": "stop", "seconds": 0.5,
        "tokens_in": 10, "tokens_out": 5,
    }  # fmt: skip


@contextmanager
def grown(db: Database, run: str, candidates: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A run with these candidates, deleted afterwards.

    The first one comes from a statement, and two answers validated it.
    """
    db.write(
        bool, "growth/merge_run", id=run, graph=f"{run}-graph", seed="Harry Potter|studied at|X",
        elicit="cot", model="organism", endpoint="organism@local",
        request='{"seed": "a|b|c"}', prompts="0" * 16,
    )  # fmt: skip
    answers = [
        answer("a1", "q1", "1. Subject 0 studied at Object 0."),
        answer("a2", "q2", "Object 0", kind="direct"),
        answer("a3", "q2", "Object 9", kind="direct", sample=1),
    ]
    db.write(rows.WrittenRow, "growth/write_answers", run=run, iteration=1, rows=answers)
    statement = {
        "id": "s1", "text": "Subject 0 studied at Object 0.", "answer": "a1",
        "place": 0, "state": "parsed",
    }  # fmt: skip
    db.write(rows.WrittenRow, "growth/write_statements", run=run, rows=[statement])
    first = candidates[:1]
    linked = [each | {"statements": ["s1"], "queries": ["q2"]} for each in first]
    db.write_all(rows.WrittenRow, "growth/write_candidates", [*linked, *candidates[1:]], run=run)
    try:
        yield run
    finally:
        db.autocommit(int, "growth/delete_run", id=run)
