"""The new objects of co-edits: each is given to one fact."""

from __future__ import annotations

from thinkeval.service.leakcut.coedit import NewObject, NewObjects


def test_each_object_is_taken_once_and_a_fact_without_one_is_named() -> None:
    rome, oslo = NewObject("Rome", "given"), NewObject("Oslo", "given")
    objects = NewObjects({"f1": [rome, oslo], "f2": [rome, oslo], "f3": [rome]}, set())
    assert objects.without == {}
    assert objects.take("f1") == rome
    assert objects.without == {"f3": "no object is left that leads nowhere"}
    assert objects.take("f2") == oslo
    assert objects.take("f3") is None
    assert set(objects.without) == {"f1", "f2", "f3"}
