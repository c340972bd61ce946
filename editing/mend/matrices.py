"""Which weights MEND edits, and the hypernetwork that belongs to them before any training."""

from __future__ import annotations

from torch import nn

from thinkeval.editing.architectures import Adapter, adapter_for
from thinkeval.editing.deltas import unedited_digest
from thinkeval.editing.errors import HparamsError
from thinkeval.editing.key_value.sites import check_exist
from thinkeval.editing.mend.hyperparams import HyperParams
from thinkeval.editing.mend.network import Hypernetwork, Matrix


def matrices_of(adapter: Adapter, hparams: HyperParams) -> list[Matrix]:
    """The edited weights, as the model stores them.

    Raises:
        HparamsError: a name that the model does not have, or that is no projection's weight.
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
    """A hypernetwork for a model before training: the identity.

    An edit is then a plain gradient step of size |edit_lr|, descent where edit_lr is negative.

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
        raise HparamsError(f"'inner_params' names {name}, which is no projection's weight")
    in_out = adapter.orientation(module) == "in_out"
    d_in, d_out = shape if in_out else reversed(shape)
    return Matrix(name, d_in, d_out, in_out)
