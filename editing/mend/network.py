"""MEND's hypernetwork g: maps a token's pair (x, δ) to a pair whose outer product is the update.

Mitchell et al. 2022, §3.1: the gradient of a linear map's weight is a sum over tokens of
outer products of the map's input x and the loss' gradient δ with respect to its output. g
normalises (x, δ) by the statistics of the training edits (`RunningStatistics`), applies low-rank
residual layers, and returns (x̃, δ̃). `matrices_of` lists the weights that are edited, `untrained`
builds their hypernetwork before training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..architectures import Adapter, adapter_for
from ..deltas import unedited_digest
from ..errors import HparamsError
from ..hparams.of.mend import HyperParams
from ..key_value.sites import check_exist
from ..linear_algebra import in_float64

STD_FLOOR = 1e-7
"""Added to every standard deviation before division (published constant)."""


class RunningStatistics:
    """Mean and standard deviation per dimension, updated batch by batch in float64.

    Batches are merged by the sums of squares around their means (Chan et al. 1983), so the result
    equals that of all rows at once, even if the mean is large compared with the deviation.
    """

    def __init__(self, width: int) -> None:
        self.count = 0
        self.mean = torch.zeros(width, dtype=torch.float64)
        self._squares = torch.zeros(width, dtype=torch.float64)

    def update(self, rows: Tensor) -> None:
        """Add rows [n, width]."""
        n = len(rows)
        if not n:
            return
        wide = in_float64(rows.detach()).cpu()
        mean = wide.mean(0)
        shift = mean - self.mean
        total = self.count + n
        self._squares += (wide - mean).square().sum(0) + shift.square() * (self.count * n / total)
        self.mean = self.mean + shift * (n / total)
        self.count = total

    @property
    def std(self) -> Tensor:
        """Sample standard deviation (n − 1); 1 for fewer than two rows."""
        if self.count < 2:
            return torch.ones_like(self.mean)
        return (self._squares / (self.count - 1)).sqrt()


@dataclass(frozen=True, slots=True)
class Matrix:
    """A weight that is edited.

    Attributes:
        name: parameter name, for example `transformer.h.1.mlp.c_fc.weight`.
        d_in, d_out: dimensions of the linear map, independent of the orientation.
        in_out: stored as [d_in, d_out] (Conv1D) rather than [d_out, d_in] (Linear).
    """

    name: str
    d_in: int
    d_out: int
    in_out: bool

    @property
    def module(self) -> str:
        """Name of the module that has the parameter."""
        return self.name.removesuffix(".weight")

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the parameter."""
        return (self.d_in, self.d_out) if self.in_out else (self.d_out, self.d_in)


class ResidualLayer(nn.Module):
    """z + σ(s ⊙ (U V z + b) + o), with one s and o per matrix (§3.1, eq. 3).

    Initialised as the identity: U, b and o are 0, s is 1, V follows Xavier's uniform rule.
    """

    def __init__(self, width: int, rank: int, n: int, generator: torch.Generator) -> None:
        super().__init__()
        rank = min(rank, width)
        bound = (6 / (width + rank)) ** 0.5
        start = (2 * torch.rand(rank, width, generator=generator) - 1) * bound
        self.v = nn.Parameter(start)
        self.u = nn.Parameter(torch.zeros(width, rank))
        self.bias = nn.Parameter(torch.zeros(width))
        self.scale = nn.Parameter(torch.ones(n, width))
        self.shift = nn.Parameter(torch.zeros(n, width))

    def forward(self, z: Tensor, which: int) -> Tensor:
        """Map z [tokens, width] with the parameters of matrix number `which`."""
        inner = z @ self.v.T @ self.u.T + self.bias
        inner = self.scale[which] * inner + self.shift[which]
        # All entries start at 0, where torch's derivative of relu is 0, and that of clamp too in
        # newer versions: the layer would never learn. Here the derivative at 0 is 1.
        return z + inner * (inner >= 0)


class Editor(nn.Module):
    """The network shared by the matrices of one shape, with one set of statistics per matrix.

    Attributes:
        mean, std: [n matrices, d_in + d_out], of (x, δ) over training; 0 and 1 before training.
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self, width: int, rank: int, n_hidden: int, n: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            ResidualLayer(width, rank, n, generator) for _ in range(n_hidden + 1)
        )
        self.register_buffer("mean", torch.zeros(n, width))
        self.register_buffer("std", torch.ones(n, width))

    def forward(self, z: Tensor, which: int) -> Tensor:
        """(x̃, δ̃) concatenated, [tokens, d_in + d_out]."""
        z = (z - self.mean[which]) / (self.std[which] + STD_FLOOR)
        for layer in self.layers:
            z = layer(z, which)
        return z


class Hypernetwork(nn.Module):
    """The editors of all matrices and one learnt step size per matrix.

    Args:
        matrices: edited weights; those of one shape share an `Editor`.
        rank: of the layers' U V, at most their width.
        n_hidden: number of hidden layers; the network has one layer more.
        edit_lr: initial step size. The update is added, so a negative step size descends.
        seed: of V's initialisation.
        weights_digest: of the unedited model.
    """

    def __init__(
        self,
        matrices: Sequence[Matrix],
        *,
        rank: int,
        n_hidden: int,
        edit_lr: float,
        seed: int,
        weights_digest: str,
    ) -> None:
        super().__init__()
        self.matrices = {matrix.name: matrix for matrix in matrices}
        self.rank, self.n_hidden = rank, n_hidden
        self.weights_digest = weights_digest
        groups: dict[str, list[str]] = {}
        for matrix in matrices:
            groups.setdefault(f"{matrix.d_in}x{matrix.d_out}", []).append(matrix.name)
        generator = torch.Generator().manual_seed(seed)
        self.editors = nn.ModuleDict(
            {
                key: Editor(sum(map(int, key.split("x"))), rank, n_hidden, len(names), generator)
                for key, names in groups.items()
            }
        )
        self.place = {
            name: (key, i) for key, names in groups.items() for i, name in enumerate(names)
        }
        self.edit_lr = nn.Parameter(torch.full((len(self.matrices),), float(edit_lr)))

    @property
    def device(self) -> torch.device:
        """Device of the hypernetwork's weights."""
        return self.edit_lr.device

    def normalise(self, name: str, mean: Tensor, std: Tensor) -> None:
        """Set the statistics of a matrix, each [d_in + d_out]."""
        key, i = self.place[name]
        editor = self.editors[key]
        assert isinstance(editor, Editor)
        editor.mean[i] = mean.to(editor.mean)
        editor.std[i] = std.to(editor.std)

    def forward(self, name: str, x: Tensor, delta: Tensor) -> tuple[Tensor, Tensor]:
        """(edit_lr · x̃ [tokens, d_in], δ̃ [tokens, d_out]) of pairs x and δ of these shapes.

        The update of the weight, as [d_in, d_out], is the first's transpose times the second.
        """
        key, i = self.place[name]
        matrix = self.matrices[name]
        pair = torch.cat([x, delta], -1).to(self.device, torch.float32)
        left, right = self.editors[key](pair, i).split([matrix.d_in, matrix.d_out], -1)
        return self.edit_lr[list(self.matrices).index(name)] * left, right

    def factors(self, name: str, x: Tensor, delta: Tensor) -> tuple[Tensor, Tensor]:
        """Update of a parameter in its own orientation, as (left [rows, n], right [n, columns]).

        n is the number of tokens. No gradients are recorded.
        """
        with torch.no_grad():
            x, delta = self(name, x, delta)
        if self.matrices[name].in_out:
            return x.T.contiguous(), delta.contiguous()
        return delta.T.contiguous(), x.contiguous()


def matrices_of(adapter: Adapter, hparams: HyperParams) -> list[Matrix]:
    """The edited weights, in the model's orientation.

    Raises:
        HparamsError: the model has no such parameter, or it is not a projection's weight.
    """
    check_exist(adapter, hparams.layers)
    names = hparams.inner_params or [
        f"{adapter.mlp_name(layer)}.{path}.weight"
        for layer in hparams.layers
        for path, module in adapter.mlp(layer).named_modules()
        if getattr(module, "weight", None) is not None and module.weight.ndim == 2
    ]
    return [_matrix(adapter, name) for name in names]


def untrained(
    model: nn.Module, hparams: HyperParams, *, weights_digest: str | None = None
) -> Hypernetwork:
    """The untrained hypernetwork of a model: the identity.

    Its edit is a plain gradient step of size |edit_lr|, a descent step for a negative edit_lr.

    Raises:
        HparamsError: as `matrices_of`.
    """
    adapter = adapter_for(model)
    network = Hypernetwork(
        matrices_of(adapter, hparams),
        rank=hparams.rank,
        n_hidden=hparams.n_hidden,
        edit_lr=hparams.edit_lr,
        seed=hparams.train_seed,
        weights_digest=weights_digest or unedited_digest(model),
    )
    return network.to(next(model.parameters()).device)


def _matrix(adapter: Adapter, name: str) -> Matrix:
    try:
        shape = adapter.model.get_parameter(name).shape
        module = adapter.model.get_submodule(name.removesuffix(".weight"))
    except AttributeError as error:
        raise HparamsError(
            f"'inner_params' names {name}, which the model does not have",
            remedy="Take the hyperparameters of this model.",
        ) from error
    if not name.endswith(".weight") or len(shape) != 2:
        raise HparamsError(f"'inner_params' names {name}, which is not a projection's weight")
    in_out = adapter.orientation(module) == "in_out"
    d_in, d_out = shape if in_out else reversed(shape)
    return Matrix(name, d_in, d_out, in_out)
