"""MEND's hyperparameters: hypernetwork, training and edit. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ....loaders.records import digest
from ..common import ModuleNames
from ..schema import Bounds, require


@dataclass(frozen=True, kw_only=True)
class HyperParams(ModuleNames):
    """MEND's published keys; those of training are used by `editing.mend.training`.

    Attributes:
        inner_params: names of the edited weights (alternative to `layers`).
        layers: edit all MLP projections of these layers (alternative to `inner_params`).
        archive: file of a stored hypernetwork; null: the one trained for the model and graph.
        lr, lr_lr: Adam's learning rates for the hypernetwork and for its step sizes.
        edit_lr: initial step size of each matrix.
        cedit, cloc: weights of L_e and L_loc.
        cimp: weight of L_imp, −log p of the conclusions of an edit (MEND_IMP of DepEdit, eq. 3);
            not a published key, and 0 in plain MEND.
        app_alpha: α of APP (PEAK, eq. 7): L_e becomes L_e + α L1, the margin of correct answers
            over false ones that are linked to the new object; 0 in plain MEND.
        rank, n_hidden: rank and number of the hypernetwork's hidden layers.
        norm: normalise x and δ; otherwise mean 0 and deviation 1 are used.
        grad_clip: maximum norm of a training gradient.
        batch_size: edits per training forward pass.
        n_edits: number of edits applied together, as one sum of updates; the published files train
            single edits (1).
        accumulate_bs: forward passes per training step.
        max_iters: maximum number of forward passes.
        val_interval, val_steps: forward passes between validations; edits per validation.
        early_stop_patience: stop after this many forward passes without a lower validation loss.
        n_locality: neighbour facts per training edit in L_loc.
        any_entity: fraction of training edits whose new object is any subject or object.
        val_share: fraction of the subject-relation pairs reserved for validation.
        train_seed: seed of training; the edit itself is deterministic.
        opt, act, init, mlp_class, combine, shared, one_sided, x_only, delta_only: published
            settings; no other values are supported.
    """

    BOUNDS: ClassVar[Bounds] = {
        "layers": (0, 9_999),
        "lr": (0, 1e4),
        "lr_lr": (0, 1e4),
        "edit_lr": (-1e4, 1e4),
        "cedit": (0, 1e9),
        "cloc": (0, 1e9),
        "cimp": (0, 1e9),
        "app_alpha": (0, 1e9),
        "rank": (1, 1_000_000),
        "n_hidden": (0, 100),
        "grad_clip": (0, 1e12),
        "batch_size": (1, 100_000),
        "n_edits": (1, 100_000),
        "accumulate_bs": (1, 100_000),
        "max_iters": (1, 10_000_000),
        "val_interval": (1, 10_000_000),
        "val_steps": (1, 1_000_000),
        "early_stop_patience": (1, 10_000_000),
        "n_locality": (1, 100_000),
        "any_entity": (0, 1),
        "val_share": (0, 1),
        "train_seed": (-9223372036854775808, 9223372036854775807),
    }

    inner_params: tuple[str, ...] = ()
    layers: tuple[int, ...] = ()
    archive: str | None = None
    lr: float = 1e-6
    lr_lr: float = 1e-4
    edit_lr: float = 1e-4
    cedit: float = 0.1
    cloc: float = 1.0
    cimp: float = 0.0
    app_alpha: float = 0.0
    rank: int = 1920
    n_hidden: int = 1
    norm: bool = True
    grad_clip: float = 100.0
    batch_size: int = 1
    n_edits: int = 1
    accumulate_bs: int = 10
    max_iters: int = 100_000
    val_interval: int = 1000
    val_steps: int = 500
    early_stop_patience: int = 30_000
    n_locality: int = 1
    any_entity: float = 0.0
    val_share: float = 0.1
    train_seed: int = 0
    opt: Literal["Adam"] = "Adam"
    act: Literal["relu"] = "relu"
    init: Literal["id"] = "id"
    mlp_class: Literal["IDMLP"] = "IDMLP"
    combine: Literal[True] = True
    shared: Literal[True] = True
    one_sided: Literal[False] = False
    x_only: Literal[False] = False
    delta_only: Literal[False] = False

    def check(self) -> None:
        """Check ranges, and that the matrices are named in exactly one way."""
        require(
            bool(self.inner_params) != bool(self.layers),
            "name the edited weights either by 'inner_params' or by 'layers'",
        )
        require(
            len(set(self.inner_params)) == len(self.inner_params), "'inner_params' repeats a name"
        )
        for key in ("lr", "lr_lr", "grad_clip"):
            require(getattr(self, key) > 0, f"'{key}' must be positive")
        counts = (
            "rank",
            "batch_size",
            "n_edits",
            "accumulate_bs",
            "max_iters",
            "val_interval",
            "val_steps",
        )
        for key in (*counts, "early_stop_patience", "n_locality"):
            require(getattr(self, key) >= 1, f"'{key}' must be 1 or more")
        for key in ("cedit", "cloc", "cimp", "app_alpha", "n_hidden"):
            require(getattr(self, key) >= 0, f"'{key}' must not be negative")
        require(0 <= self.any_entity <= 1, "'any_entity' must lie between 0 and 1")
        require(0 < self.val_share < 1, "'val_share' must lie between 0 and 1")

    @property
    def training_digest(self) -> str:
        """Digest of every value that a trained hypernetwork depends on."""
        omitted = {"archive", *ModuleNames.__dataclass_fields__}
        return digest({k: v for k, v in self.as_dict().items() if k not in omitted})
