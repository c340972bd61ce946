"""Hyperparameters common to locate-then-edit methods, by published name. Imports no torch."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields
from typing import ClassVar, Literal

from ..errors import CovarianceError
from .schema import Bounds, Schema, require

TRAINED: Bounds = {
    "layers": (0, 9_999),
    "num_steps": (1, 100_000),
    "lr": (0, 1e4),
    "weight_decay": (0, 1e6),
    "norm_constraint": (0, 1e9),
}
"""Bounds of the keys of methods that train a projection by Adam."""


@dataclass(frozen=True, kw_only=True)
class ModuleNames(Schema):
    """Published keys that name modules; the architecture's adapter is used instead.

    All are optional: they are accepted so that published files load unchanged.

    Attributes:
        rewrite_module_tmp: name of the edited module, checked against the adapter's.
        model_name, layer_module_tmp, mlp_module_tmp: accepted and not used.
        attn_module_tmp, ln_f_module, lm_head_module: accepted and not used.
    """

    model_name: str | None = None
    rewrite_module_tmp: str | None = None
    layer_module_tmp: str | None = None
    mlp_module_tmp: str | None = None
    attn_module_tmp: str | None = None
    ln_f_module: str | None = None
    lm_head_module: str | None = None


OF_THE_CORPUS = ("mom2_dataset", "mom2_n_samples", "mom2_dtype")
"""Keys that name the authors' statistics and have no effect; the record of an edit leaves them out,
and says which corpus it used."""

RIDGE, ENOUGH, LEAST = 0.001, 2, 0.25
"""The `mom2_ridge` of statistics of few tokens; tokens a dimension of the keys from which on
nothing is added, and below which no ridge helps. On SmolLM2-135M a MEMIT of two facts has a norm of
.47, .44 and .018 of the weights' at ratios .5, 1 and 2 without a ridge, and of .011, .014 and .025
at .25, .5 and 1 with it."""


def ridge_for(tokens: int, dimensions: int, ridge: float) -> float:
    """Return `mom2_ridge` for a covariance of so many tokens, where the user has set none.

    A covariance of n tokens has rank n at most: the solve in the other dimensions is of rounding
    errors, passes its own check, and its update destroys the model.

    Args:
        ridge: of a shipped file, or 0.

    Raises:
        CovarianceError: the tokens are fewer than a fourth of the dimensions.
    """
    if tokens >= ENOUGH * dimensions:
        return ridge
    if tokens < LEAST * dimensions:
        raise CovarianceError(
            f"the covariance is of {tokens:,} tokens for keys of {dimensions:,} dimensions, fewer"
            " than a fourth: an update by it would destroy the model",
            remedy="Give more text, or --set mom2_ridge=.01.",
        )
    return max(ridge, RIDGE)


NOT_OF_TARGETS = frozenset(
    {
        *(item.name for item in fields(ModuleNames)),
        "layers",  # only the last, at which z is optimised
        "mom2_ridge",
        *OF_THE_CORPUS,
    }
)
"""Fields of `ValueHyperParams` that do not change a target vector: names of modules, and the
covariance, which is used after the targets are found."""


@dataclass(frozen=True, kw_only=True)
class ValueHyperParams(ModuleNames):
    """Hyperparameters of the optimisation of v* (ROME) or z (MEMIT).

    Attributes:
        layers: edited layers, counted from 0; z is optimised at the last.
        v_num_grad_steps: maximum number of forward passes; there is one update fewer.
        v_lr: step size of Adam; or
        v_step: the same as a fraction of the clamp: the first step is v_step · clamp_norm_factor ·
            ‖v0‖ long. Not published, for models whose hidden states have another scale.
        v_loss_layer: layer whose output is read as the prediction (MEMIT); null = the last.
        v_weight_decay: factor on ‖δ‖ / ‖v0‖².
        clamp_norm_factor: ‖δ‖ is clamped to this times ‖v0‖.
        kl_factor: factor on the divergence at "{subject} is a".
        kl_direction: `new_initial`, KL(new ‖ initial), as in the papers and their code; or
            `initial_new`, as in some reimplementations.
        v_stop_loss: the optimisation stops once the total loss is below (published: 0.05); or
        v_stop_probability: once the target's mean probability is above. Not published; the other
            terms of the loss, whose size depends on the model, do not count. Not used with an
            objective.
        fact_token: only `subject_last`, as in the published files.
        context_template_length_params: [total tokens, number of texts] of the prefixes to sample.
        context_templates: fixed prefixes that precede the sampled ones, each with one `{}`.
        mom2_ridge: this times the mean of C's diagonal is added to C's diagonal; not in the papers.
            Unless it is set, a score raises it to .001 where the covariance statistics have fewer
            than 2 tokens a dimension, and refuses fewer than a fourth of one.
        mom2_dataset, mom2_n_samples, mom2_dtype: the authors' statistics, recorded only.
    """

    BOUNDS: ClassVar[Bounds] = {
        "layers": (0, 9_999),
        "v_num_grad_steps": (1, 10_000),
        "v_lr": (0, 1e4),
        "v_step": (0, 1e4),
        "v_weight_decay": (0, 1e6),
        "clamp_norm_factor": (0, 1e6),
        "kl_factor": (0, 1e6),
        "v_loss_layer": (-9_999, 9_999),
        "v_stop_loss": (-1e6, 1e6),
        "v_stop_probability": (0, 1),
        "context_template_length_params": (1, 10_000),
        "mom2_ridge": (0, 1e12),
        "mom2_n_samples": (0, 1_000_000_000_000),
    }

    ALTERNATIVES = (("v_lr", "v_step"),)

    layers: tuple[int, ...]
    v_num_grad_steps: int
    v_lr: float | None = None
    v_step: float | None = None
    v_weight_decay: float
    clamp_norm_factor: float
    kl_factor: float
    kl_direction: Literal["new_initial", "initial_new"] = "new_initial"
    v_loss_layer: int | None = None
    v_stop_loss: float = 0.05
    v_stop_probability: float | None = None
    fact_token: Literal["subject_last"] = "subject_last"
    context_template_length_params: tuple[tuple[int, ...], ...] = ()
    context_templates: tuple[str, ...] = ()
    mom2_ridge: float = 0.0
    mom2_dataset: str = "wikipedia"
    mom2_n_samples: int = 100_000
    mom2_dtype: str = "float32"

    def target_key(self, site: str) -> tuple[object, ...]:
        """Inputs of a target vector besides model, request and seed.

        Two methods with equal keys find the same vector, so they can share it. Every field of this
        class counts, except those that are known not to (`NOT_OF_TARGETS`).

        Args:
            site: of the optimisation: `mlp` (v*) or `layer` (z), at the last edited layer.
        """
        names = (item.name for item in fields(ValueHyperParams) if item.name not in NOT_OF_TARGETS)
        return (site, self.layers[-1], *((name, getattr(self, name)) for name in names))

    def check(self) -> None:
        """Check the ranges of the numbers, and the form of the templates."""
        check_layers(self.layers)
        require(self.v_num_grad_steps >= 1, "'v_num_grad_steps' must be 1 or more")
        for key in ("v_lr", "v_step"):
            require_above_0(getattr(self, key), key)
        stop = self.v_stop_probability
        require(stop is None or 0 < stop < 1, "'v_stop_probability' must be between 0 and 1")
        require(self.clamp_norm_factor > 0, "'clamp_norm_factor' must be positive")
        for key in ("v_weight_decay", "kl_factor", "mom2_ridge"):
            require(getattr(self, key) >= 0, f"'{key}' must not be negative")
        require(
            all(len(p) == 2 and min(p) >= 1 for p in self.context_template_length_params),
            "'context_template_length_params' is a list of [tokens, number of texts]",
        )
        for template in self.context_templates:
            require(template.count("{}") == 1, f"the template '{template}' needs exactly one {{}}")


@dataclass(frozen=True, kw_only=True)
class BatchHyperParams(ValueHyperParams):
    """Hyperparameters of methods that edit many requests in one batch (MEMIT and its family).

    Attributes:
        joint_targets: requests of a batch with one key (cosine above .95 at the last edited layer)
            get one target vector, which minimises the sum of their losses, and one column of the
            solve. Not published; default false.
    """

    joint_targets: bool = False

    def target_key(self, site: str) -> tuple[object, ...]:
        """As of `ValueHyperParams`; joint targets depend on the batch, and are keyed apart."""
        key = super().target_key(site)
        return (*key, ("joint_targets", True)) if self.joint_targets else key


def require_above_0(value: float | None, key: str) -> None:
    """Raise unless a value that may be left out is positive."""
    require(value is None or value > 0, f"{key!r} must be positive")


def check_layers(layers: tuple[int, ...]) -> None:
    """Raise unless there is at least one layer, and layers ascend strictly."""
    ascending = all(a < b for a, b in itertools.pairwise(layers))
    require(bool(layers) and layers[0] >= 0 and ascending, "'layers' must ascend from 0 or more")
