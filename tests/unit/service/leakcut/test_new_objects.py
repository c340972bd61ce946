"""The new objects of co-edits: each its own, and shared where there is no other."""

from __future__ import annotations

from thinkeval.service.leakcut.coedit import NewObject, NewObjects


def test_an_object_is_shared_only_where_a_fact_has_no_other() -> None:
    rome, oslo = NewObject("Rome", "relation"), NewObject("Oslo", "entity")
    objects = NewObjects({"f1": [rome, oslo], "f2": [rome, oslo], "f3": [rome], "f4": []})
    assert objects.without == {"f4": "every object leads on to the old one"}
    assert objects.take("f1") == rome
    assert objects.take("f2") == oslo
    assert objects.take("f3") == NewObject("Rome", "shared")
    assert objects.take("f2") == NewObject("Oslo", "shared")  # Rome has two facts by now
    assert set(objects.without) == {"f4"}


def test_an_object_that_the_user_gives_stays_given() -> None:
    rome = NewObject("Rome", "given")
    objects = NewObjects({"f1": [rome], "f2": [rome]})
    assert (objects.take("f1"), objects.take("f2")) == (rome, rome)
