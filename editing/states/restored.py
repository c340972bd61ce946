"""A model whose modules are wrapped or replaced for a time, and restored exactly."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn


@contextmanager
def restored(model: nn.Module) -> Iterator[nn.Module]:
    """Restore every module of the model on exit: children, parameters, hooks, attributes.

    Undoes changes by libraries that wrap or replace modules (peft, torchao, bitsandbytes): a module
    is another one, a parameter has other memory, an attribute or hook is added. Costs no memory: it
    keeps references to the original tensors. A write into a tensor's own memory is not undone.
    """
    modules = [(module, dict(module.__dict__)) for module in model.modules()]
    # Each container itself is kept with a copy of its content: handles of hooks refer to it.
    containers = [
        (value, copy.copy(value))
        for _, attributes in modules
        for value in attributes.values()
        if isinstance(value, dict | set)
    ]
    parameters = [(each, each.data, each.requires_grad) for each in model.parameters()]
    try:
        yield model
    finally:
        for module, attributes in modules:
            module.__dict__.clear()
            module.__dict__.update(attributes)
        for container, content in containers:
            _refill(container, content)
        for parameter, data, wants in parameters:
            if parameter.data_ptr() != data.data_ptr():
                parameter.data = data
            parameter.requires_grad_(wants)


def _refill(container: Any, content: Any) -> None:
    container.clear()
    container.update(content)
