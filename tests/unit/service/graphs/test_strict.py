"""`strict`: what is refused, and what the refusal says to do."""

from __future__ import annotations

import pytest

from thinkeval.loaders import formats, graphs
from thinkeval.service.base.errors import UsageError
from thinkeval.service.graphs.datasets import require_sound


def test_the_refusal_of_world_says_that_its_labels_may_be_right() -> None:
    with pytest.raises(UsageError, match="object-in-subject 5") as caught:
        require_sound(formats.load(graphs.path("world")))
    remedy = caught.value.remedy or ""
    assert "the fact may be true, but the subject's name gives the object away" in remedy
    assert "if its labels are right, import it without `strict`" in remedy


def test_a_graph_without_findings_is_taken() -> None:
    require_sound(formats.load(graphs.path("atlas")))
