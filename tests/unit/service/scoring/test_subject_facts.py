"""The options that an edited model's answer about its subject is chosen from."""

from __future__ import annotations

from thinkeval.cypher import rows
from thinkeval.service.scoring.side_effects import OPTIONS, drawn


def test_the_options_hold_own_object_and_those_that_follow_and_are_always_the_same() -> None:
    names = tuple(f"river {i:03}" for i in range(200))
    of = rows.SubjectOptionsRow("lies on", names, (names[150], names[7]))
    found = drawn("lands", names[99], of)
    assert len(found) == len(set(found)) == OPTIONS
    assert {names[99], names[150], names[7]} <= set(found)
    assert found == drawn("lands", names[99], of)
    assert found != drawn("other lands", names[99], of)
    few = rows.SubjectOptionsRow("lies on", names[:3], ())
    assert drawn("lands", names[0], few) == list(names[:3])
