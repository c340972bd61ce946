"""Order of a growth run's drawing when there is more than it can hold."""

from __future__ import annotations

from typing import Any

from thinkeval.service.growth.schemas import CandidateOut
from thinkeval.service.web.pages.growth import MOST, draw

BARE: dict[str, Any] = {
    "kind": "triplet", "relation": "knows", "prompt": None, "question": None, "reason": None,
    "tries": 1, "share": 0.5, "n_answers": 4, "iteration": 1, "checks": None, "verdict": None,
    "decided_by": None, "corrected": None, "judged": None, "judge": None, "judge_corrected": None,
    "statements": (),
}  # fmt: skip


def candidate(place: int, state: str, object: str) -> CandidateOut:
    return CandidateOut(
        **BARE,
        id=str(place),
        subject="A",
        object=object,
        state=state,
        place=place,  # type: ignore[arg-type]
    )


def test_facts_are_drawn_before_what_failed() -> None:
    unknown = [candidate(n, "unknown", f"u{n}") for n in range(MOST)]
    facts = [candidate(MOST + n, "validated", f"f{n}") for n in range(MOST - 10)]
    found = draw([*unknown, *facts], crawled=False)
    kinds = [edge.css for edge in found.edges]
    assert (kinds.count("fact"), kinds.count("unknown")) == (MOST - 10, 10)
    assert found.left_out == MOST - 10


def test_no_more_is_drawn_than_fits() -> None:
    facts = [candidate(n, "validated", f"f{n}") for n in range(MOST + 5)]
    found = draw(facts, crawled=False)
    assert (len(found.edges), found.left_out) == (MOST, 5)
