"""A saved edit or statistics of equal weights with other inputs is not taken for the model's."""

import pytest

from thinkeval.editing.covariance.statistics import Source
from thinkeval.editing.deltas import EditEffect
from thinkeval.editing.deltas.files import check_fits
from thinkeval.editing.deltas.records import DeltaMeta, SavedDelta
from thinkeval.editing.errors import DeltaError


def _saved(inputs: str) -> SavedDelta:
    meta = DeltaMeta(weights_digest="w", method="rome", inputs=inputs)
    return SavedDelta(EditEffect(deltas={}), meta, "d", ())


def test_a_delta_of_another_configuration_is_refused() -> None:
    check_fits([_saved("a")], "w", "a")
    with pytest.raises(DeltaError, match="another configuration"):
        check_fits([_saved("a")], "w", "b")


def test_a_delta_without_the_field_is_taken_by_its_weights() -> None:
    check_fits([_saved("")], "w", "b")


def test_a_source_of_another_configuration_has_another_key() -> None:
    keys = {Source("w", "c", "float32", 8, inputs=inputs).digest for inputs in ("", "a", "b")}
    assert len(keys) == 3
