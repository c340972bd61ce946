"""Module layouts of architectures: one file per architecture, found by name.

The file's name is the `model_type` of the model's configuration (`gpt2.py`, `llama.py`); it defines
one `LAYOUT`. To add an architecture, add one file. A model's first adapter is compared with the
model on one short prompt, so that an incomplete layout is an error and not a wrong number.
Importing this package imports no torch.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

from ..errors import UnsupportedArchitectureError
from ._adapter import Adapter, Layout, Projection
from ._refused import check_editable

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Adapter", "Layout", "Projection", "adapter_for", "layout_for", "layout_of", "names"]


def names() -> tuple[str, ...]:
    """Supported architectures, sorted."""
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(name for name in found if not name.startswith("_")))


def layout_of(model_type: str) -> Layout:
    """The layout of an architecture.

    Raises:
        UnsupportedArchitectureError: the architecture has no layout file.
    """
    key = model_type.replace("-", "_")
    if key not in names():
        close = difflib.get_close_matches(key, names(), n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        known = ", ".join(names())
        raise UnsupportedArchitectureError(
            f"no adapter for the architecture '{model_type}'; there are {known}.{hint}",
            remedy=f"Add editing/architectures/{key}.py with one LAYOUT "
            "(llama.py is the shortest model), or edit a model of a listed architecture. "
            "Probing needs no adapter.",
        )
    return importlib.import_module(f"{__name__}.{key}").LAYOUT


def layout_for(config: Any, model_type: str) -> Layout:
    """The layout of a model's configuration.

    Raises:
        UnsupportedArchitectureError: the model is quantised or a mixture of experts, or the
            architecture has no layout file.
    """
    check_editable(config, model_type)
    return layout_of(model_type)


def adapter_for(model: nn.Module) -> Adapter:
    """The adapter of a loaded transformers model, by its `config.model_type`.

    Raises:
        UnsupportedArchitectureError: the model is quantised or a mixture of experts, the
            architecture has no layout file, or the model lacks a module of the layout.
        AdapterMismatchError: the layout does not describe the model's computation; found by one
            short forward pass, once for each model object.
    """
    config = getattr(model, "config", None)
    model_type = getattr(config, "model_type", None) or type(model).__name__
    adapter = Adapter(model, layout_for(config, model_type))
    # Imported here, because it imports torch.
    from . import _self_check

    _self_check.check_once(adapter)
    return adapter
