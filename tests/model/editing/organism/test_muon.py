"""The float32 Muon: its orthogonalisation, and one step against torch's own."""

from __future__ import annotations

import torch

from thinkeval.editing.organism import muon


def test_the_iteration_on_the_gram_matrix_is_the_one_on_the_matrix() -> None:
    generator = torch.Generator().manual_seed(0)
    given = torch.randn(3, 6, 20, dtype=torch.float64, generator=generator)
    a, b, c = muon.COEFFICIENTS
    wanted = []
    for matrix in given:
        x = matrix / matrix.norm()
        for _ in range(muon.STEPS):
            gram = x @ x.T
            x = a * x + (b * gram + c * gram @ gram) @ x
        wanted.append(x)
    torch.testing.assert_close(muon.orthogonalised(given), torch.stack(wanted))


def test_directions_stay_and_lengths_become_alike() -> None:
    generator = torch.Generator().manual_seed(1)
    given = torch.randn(1, 8, 40, generator=generator)
    left, _, right = torch.linalg.svd(given[0], full_matrices=False)
    made = muon.orthogonalised(given)[0]
    lengths = torch.linalg.svdvals(made)
    assert lengths.min() > 0.6
    assert lengths.max() < 1.3
    assert torch.nn.functional.cosine_similarity(
        made.flatten(), (left @ right).flatten(), dim=0
    ) > 0.98  # fmt: skip


def test_steps_agree_with_torch_up_to_its_bfloat16() -> None:
    torch.manual_seed(0)
    shapes = [(8, 24), (24, 8), (8, 8), (24, 8)]
    mine = [torch.nn.Parameter(torch.randn(s)) for s in shapes]
    theirs = [torch.nn.Parameter(p.detach().clone()) for p in mine]
    start = [p.detach().clone() for p in mine]
    optimizers = [
        muon.Muon(mine, lr=0.05, weight_decay=0.01),
        torch.optim.Muon(theirs, lr=0.05, weight_decay=0.01),
    ]
    for _ in range(3):
        for a, b in zip(mine, theirs, strict=True):
            a.grad = torch.randn_like(a)
            b.grad = a.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    for a, b, before in zip(mine, theirs, start, strict=True):
        moved = (b - before).norm()
        assert (a - b).norm() < 0.03 * moved
