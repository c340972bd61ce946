"""Padding: masks, positions and lengths on either side, and the batch on another device."""

from __future__ import annotations

import pytest
import torch

from thinkeval.editing.errors import EditingError
from thinkeval.editing.key_value.subject_position import Encoded, with_subjects
from thinkeval.editing.padding import pad

ROWS = [[5, 6, 7], [8]]


@pytest.mark.parametrize(
    ("side", "ids", "positions"),
    [
        ("right", [[5, 6, 7], [8, 0, 0]], [[0, 1, 2], [0, 0, 0]]),
        ("left", [[5, 6, 7], [0, 0, 8]], [[0, 1, 2], [0, 0, 0]]),
    ],
)
def test_rows_are_padded_to_the_longest(side, ids, positions):
    batch = pad(ROWS, 0, side)
    assert batch.input_ids.tolist() == ids
    assert batch.attention_mask.tolist() == [[int(i > 0) for i in row] for row in ids]
    assert batch.position_ids.tolist() == positions
    assert batch.lengths.tolist() == [3, 1]
    assert set(batch.inputs()) == {"input_ids", "attention_mask", "position_ids"}


def test_no_rows_make_an_empty_batch():
    assert pad([], 0).input_ids.shape == (0, 0)


def test_an_unknown_padding_side_is_refused():
    with pytest.raises(EditingError, match="middle"):
        pad([[1]], 0, "middle")


def test_a_batch_moves_as_its_own_type():
    encoded = with_subjects(pad(ROWS, 0), torch.tensor([2, 0])).to("meta")
    assert isinstance(encoded, Encoded)
    assert encoded.subject_last.device.type == "meta"
    assert pad(ROWS, 0).to("meta").input_ids.device.type == "meta"
