"""Progress of a sequence on disk: what is read goes on to the same bits; damage is refused."""

from __future__ import annotations

import pytest
import torch

from support.edit_methods import HARRY, hparams
from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance, registry
from thinkeval.editing.deltas import EditEffect
from thinkeval.editing.deltas.progress import Progress, read, write
from thinkeval.editing.errors import DeltaError
from thinkeval.editing.sequence import edit_in_sequence
from thinkeval.loaders.records import RewriteRequest

TEMPLATES = ["{}", "In fact, {}"]
PLACES = ("Paris", "Warsaw", "Hogwarts", "Ilvermorny", "Paris", "Warsaw")
BATCHES = [
    [RewriteRequest(f"e{i}", "t", "The capital of {} is", "France", "r", "Paris", place)]
    for i, place in enumerate(PLACES)
]


@pytest.fixture
def pair():
    return build_tiny("gpt2", seed=11, scale=16)


@pytest.mark.parametrize("name", ["ultraedit", "alphaedit", "memit", "rome", "fine_tuning"])
@pytest.mark.parametrize("at", [1, 4])
def test_a_sequence_goes_on_from_disk_to_the_same_bits(pair, tmp_path, name, at):
    moments = covariance.collect(*pair, CORPUS, [0, 1])

    def going(batches, **begun):
        method = registry.get(name)
        options = {"context_templates": TEMPLATES, "seed": 3}
        return edit_in_sequence(*pair, batches, method, hparams(name), moments, **options, **begun)

    *_, whole = going(BATCHES)
    *_, first = going(BATCHES[:at])
    write(tmp_path / "p", "key", Progress(at, first, {"points": [0.1 + 0.2]}))
    begun = read(tmp_path / "p", "key")
    assert begun is not None
    assert (begun.batches, begun.about) == (at, {"points": [0.1 + 0.2]})
    assert begun.effect.templates == first.templates
    *_, last = going(BATCHES[at:], before=begun.effect, done=at)
    assert set(last.deltas) == set(whole.deltas)
    for key, delta in whole.deltas.items():
        assert torch.equal(last.deltas[key], delta)
    assert set(last.factors) == set(whole.factors)
    for key, value in whole.state.items():
        for inner, expected in value.items():
            found = last.state[key][inner]
            same = torch.equal(found, expected) if torch.is_tensor(expected) else found == expected
            assert same, (key, inner)


def test_without_a_file_there_is_no_progress(tmp_path):
    assert read(tmp_path / "p", "key") is None


def test_damage_and_other_sequences_are_refused(tmp_path):
    path = tmp_path / "p"
    write(path, "key", Progress(2, EditEffect({"w": torch.ones(3, 4)}, state={"n": {"w": 2}}), {}))
    with pytest.raises(DeltaError, match="of another sequence") as caught:
        read(path, "another")
    assert "--force" in caught.value.remedy
    body = bytearray(path.read_bytes())
    body[-3] ^= 1
    path.write_bytes(body)
    with pytest.raises(DeltaError, match="its digest is another"):
        read(path, "key")
    path.write_bytes(bytes(body[: len(body) // 2]))
    with pytest.raises(DeltaError, match="no progress of this sequence"):
        read(path, "key")


def test_a_state_that_cannot_be_stored_is_refused_and_the_old_file_stays(tmp_path):
    path = tmp_path / "p"
    write(path, "key", Progress(1, EditEffect(), {}))
    with pytest.raises(DeltaError, match="RewriteRequest"):
        write(path, "key", Progress(2, EditEffect(state={"last": HARRY}), {}))
    found = read(path, "key")
    assert found is not None
    assert found.batches == 1
