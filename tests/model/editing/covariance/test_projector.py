"""The null-space projector against a singular value decomposition in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from support.references.edit_reference import close
from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance
from thinkeval.editing.covariance import Covariance
from thinkeval.editing.covariance.projector import null_space, read
from thinkeval.editing.errors import DeviceMemoryError, EditFailedError, HparamsError

CPU = torch.device("cpu")
SIZE = 24


def moment(values, seed=0):
    """A covariance with the given eigenvalues, and its eigenvectors [d, d]."""
    generator = torch.Generator().manual_seed(seed)
    square = torch.randn(len(values), len(values), generator=generator, dtype=torch.float64)
    basis, _ = torch.linalg.qr(square)
    return basis @ torch.diag(torch.tensor(values, dtype=torch.float64)) @ basis.T, basis


def dense(c, bound):
    """P from the left singular vectors of what is below the bound."""
    u, s, _ = torch.linalg.svd(c.double())
    small = u[:, s < bound]
    return small @ small.T


@pytest.mark.parametrize("n_small", [1, 5, 12, 17, 23])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_projects_on_what_is_below_the_threshold(n_small, dtype):
    values = [1e-3 * (i + 1) for i in range(n_small)]
    values += [0.5 + i for i in range(SIZE - n_small)]
    c, basis = moment(values)
    covariance = Covariance({"m": c.to(dtype)})
    found = null_space(covariance, "m", CPU, threshold=0.1)
    p = found.times(torch.eye(SIZE, dtype=torch.float64))
    assert found.rank == n_small
    assert found.bound == 0.1
    assert close(p, basis[:, :n_small] @ basis[:, :n_small].T, 1e-12 if c.dtype == dtype else 1e-4)
    assert close(p, dense(c.to(dtype), 0.1), 1e-9 if c.dtype == dtype else 1e-4)
    assert close(p @ p, p, 1e-12)
    assert torch.linalg.matrix_rank(p) == n_small


@pytest.mark.parametrize("n_small", [3, 12, 20])
def test_the_smaller_basis_is_kept(n_small):
    c, _ = moment([0.01] * n_small + [1.0] * (SIZE - n_small))
    found = null_space(Covariance({"m": c}), "m", CPU, threshold=0.02)
    assert found.basis.shape == (SIZE, min(n_small, SIZE - n_small))
    assert found.removes == (n_small > SIZE // 2)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_relative_bound_does_not_depend_on_the_scale_of_the_keys(scale):
    values = [2.0**i for i in range(SIZE)]
    c, _ = moment(values)
    found = null_space(Covariance({"m": c * scale}), "m", CPU, relative=0.1)
    bound = 0.1 * sum(values) / SIZE
    assert found.rank == sum(value < bound for value in values)
    assert found.bound == pytest.approx(bound * scale)


@pytest.mark.parametrize("largest", [1.0, 1e5])
@pytest.mark.parametrize("fraction", [0.25, 0.7])
def test_a_fraction_of_the_dimensions_is_not_moved_by_a_huge_eigenvalue(largest, fraction):
    """By numpy. One huge eigenvalue leaves every other one below a fraction of the mean."""
    c, _ = moment([0.1 * 1.3**i for i in range(SIZE - 1)] + [100 * largest])
    found = null_space(Covariance({"m": c}), "m", CPU, fraction=fraction)
    values, vectors = np.linalg.eigh(c.numpy())
    assert found.rank == int(fraction * SIZE)
    assert found.bound == pytest.approx(values[found.rank], rel=1e-5)
    small = torch.tensor(vectors[:, : found.rank])
    assert close(found.times(torch.eye(SIZE, dtype=torch.float64)), small @ small.T, 1e-6)
    if largest > 1:
        assert null_space(Covariance({"m": c}), "m", CPU, relative=0.3).rank == SIZE - 1


def test_exactly_one_bound_is_given():
    c, _ = moment([1.0] * SIZE)
    for given in ({}, {"fraction": 0.1, "relative": 0.1}):
        with pytest.raises(HparamsError, match="exactly one of nullspace_threshold"):
            null_space(Covariance({"m": c}), "m", CPU, **given)


def test_an_eigenvalue_at_the_threshold_is_kept():
    c = torch.diag(torch.tensor([0.01, 0.02, 0.03], dtype=torch.float64))
    found = null_space(Covariance({"m": c}), "m", CPU, threshold=0.02)
    kept = found.times(torch.eye(3, dtype=torch.float64))
    assert torch.equal(kept, torch.diag(torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)))


def test_rounding_errors_below_zero_belong_to_the_null_space():
    keys = torch.randn(5, SIZE, generator=torch.Generator().manual_seed(3))
    c = keys.T @ keys / 5
    assert torch.linalg.eigvalsh(c.double())[0] < 0
    found = null_space(Covariance({"m": c}), "m", CPU, relative=1e-4)
    assert found.rank == SIZE - 5
    assert found.times(keys.T.double()).norm() < 1e-5 * keys.norm()


def test_it_is_found_once_for_each_covariance_module_and_bound(monkeypatch):
    calls = []
    eigh = torch.linalg.eigh
    monkeypatch.setattr(torch.linalg, "eigh", lambda c: calls.append(1) or eigh(c))
    c, _ = moment([0.01] * 10 + [1.0] * 14)
    d, _ = moment([0.01] * 8 + [1.0] * 16, seed=1)
    first = Covariance({"m": c, "n": d})
    one = null_space(first, "m", CPU, threshold=0.02)
    assert null_space(first, "m", CPU, threshold=0.02) is one
    assert len(calls) == 1
    assert null_space(first, "n", CPU, threshold=0.02).rank == 8
    assert null_space(first, "m", CPU, threshold=0.03) is not one
    assert null_space(first, "m", CPU, relative=0.03) is not one
    assert len(calls) == 4
    other = Covariance({"m": d})
    assert null_space(other, "m", CPU, threshold=0.02).rank == 8


def test_it_is_found_once_for_each_covariance_on_disk(monkeypatch, tmp_path):
    calls, eigh, pair = [], torch.linalg.eigh, build_tiny("llama", n_layers=2)
    monkeypatch.setattr(torch.linalg, "eigh", lambda c: calls.append(1) or eigh(c))

    def found(texts=CORPUS, fraction=0.3):
        moments = covariance.get(*pair, texts, [0], tmp_path)
        (name,) = moments
        return null_space(moments, name, CPU, fraction=fraction)

    first = found()
    for fraction in (0.3, 0.8):
        again = found(fraction=fraction)
        assert len(calls) == 1, "another bound needs no other decomposition"
    assert torch.equal(found().basis, first.basis)
    assert again.rank > first.rank
    (path,) = (tmp_path / "eigen").iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-8] + bytes(8))
    assert torch.equal(found().basis, first.basis)
    assert len(calls) == 2
    assert read(path) is not None
    found(CORPUS[:2])
    assert len(calls) == 3


def test_a_decomposition_that_fails_is_tried_on_the_cpu_and_says_why(monkeypatch):
    c, _ = moment([0.01] * 10 + [1.0] * 14)
    errors, eigh = [], torch.linalg.eigh

    def failing(given):
        if errors:
            raise errors.pop()
        return eigh(given)

    monkeypatch.setattr(torch.linalg, "eigh", failing)
    full, diverging = torch.OutOfMemoryError("full"), torch.linalg.LinAlgError("no convergence")
    for error, kind in ((full, DeviceMemoryError), (diverging, EditFailedError)):
        errors[:] = [error]
        assert null_space(Covariance({"m": c}), "m", CPU, threshold=0.02).rank == 10
        errors[:] = [error, error]
        with pytest.raises(kind, match=r"18,432 bytes|of m could not be computed: no convergence"):
            null_space(Covariance({"m": c}), "m", CPU, threshold=0.02)


@pytest.mark.parametrize(
    ("bound", "message", "remedy"),
    [
        ({"threshold": 1e-3}, "'?m'?.*rank 0 of 24.*0.01 to 1 ", "Raise nullspace_threshold"),
        ({"relative": 1e-3}, "rank 0 of 24.*nullspace_relative 0.001", "Raise nullspace_relative"),
        ({"threshold": 2.0}, "full rank 24.*0.01 to 1 ", "Lower nullspace_threshold"),
        ({"relative": 9.0}, "full rank 24", "Lower nullspace_relative"),
    ],
)
def test_a_bound_that_leaves_nothing_or_everything_is_an_error(bound, message, remedy):
    c, _ = moment([0.01] * 10 + [1.0] * 14)
    with pytest.raises(HparamsError, match=message) as caught:
        null_space(Covariance({"m": c}), "m", CPU, **bound)
    assert caught.value.remedy.startswith(remedy)
