"""MEND's hyperparameters: of hypernetwork, training and edit. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from thinkeval.editing.hparams.common import ModuleNames
from thinkeval.editing.hparams.schema import require
from thinkeval.loaders.records import digest


@dataclass(frozen=True, kw_only=True)
class HyperParams(ModuleNames):
    """MEND's published keys; training's are used by `editing.mend.training`.

    Attributes:
        inner_params: names of the weights that are edited; or instead
        layers: edit all projections of the MLPs of these layers.
        archive: file of a stored hypernetwork; null: the one trained for the model and graph.
        lr, lr_lr: Adam's rates for the hypernetwork and for its step sizes.
        edit_lr: each matrix' step size to begin with.
        cedit, cloc: weights of L_e and L_loc.
        cimp: weight of L_imp, −log p of what follows from an edit (MEND_IMP of DepEdit, eq. 3); not
            a published key, and 0 in plain MEND.
        rank, n_hidden: of the hypernetwork's layers.
        norm: normalise x and δ; else their statistics stay 0 and 1.
        grad_clip: largest norm of a training gradient.
        batch_size: edits of a training forward.
        n_edits: how many of them are made at once, as one sum of updates; 1 sees each by itself,
            and is what the published files train for.
        accumulate_bs: forwards a training step.
        max_iters: forwards at most.
        val_interval, val_steps: forwards between validations, and edits of one.
        early_stop_patience: end after so many forwards without a better validation loss.
        n_locality: facts beside each training edit that L_loc looks at.
        any_entity: share of training edits to any subject or object of the graph.
        val_share: share of the subject-relation pairs kept for validation.
        train_seed: of training; the edit itself is not random.
        opt, act, init, mlp_class, combine, shared, one_sided, x_only, delta_only: the published
            settings, the only ones there are.
    """

    inner_params: tuple[str, ...] = ()
    layers: tuple[int, ...] = ()
    archive: str | None = None
    lr: float = 1e-6
    lr_lr: float = 1e-4
    edit_lr: float = 1e-4
    cedit: float = 0.1
    cloc: float = 1.0
    cimp: float = 0.0
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
        """Ranges of the numbers, and that the matrices are named in one way."""
        require(
            bool(self.inner_params) != bool(self.layers),
            "name the edited weights by 'inner_params' or by 'layers', one of them",
        )
        require(
            len(set(self.inner_params)) == len(self.inner_params), "'inner_params' repeats a name"
        )
        for key in ("lr", "lr_lr", "grad_clip"):
            require(getattr(self, key) > 0, f"'{key}' has to be positive")
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
            require(getattr(self, key) >= 1, f"'{key}' has to be 1 or more")
        for key in ("cedit", "cloc", "cimp", "n_hidden"):
            require(getattr(self, key) >= 0, f"'{key}' must not be negative")
        require(0 <= self.any_entity <= 1, "'any_entity' has to lie between 0 and 1")
        require(0 < self.val_share < 1, "'val_share' has to lie between 0 and 1")

    @property
    def training_digest(self) -> str:
        """Changes with every value that a trained hypernetwork depends on."""
        aside = {"archive", *ModuleNames.__dataclass_fields__}
        # As it was before there were these keys.
        aside |= {
            key for key, plain in (("cimp", 0), ("n_edits", 1)) if getattr(self, key) == plain
        }
        return digest({k: v for k, v in self.as_dict().items() if k not in aside})
