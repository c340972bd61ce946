"""Hooks that read or replace activations of a model, limited to a `with` block.

Every hook is removed when its block ends, also after an exception. A module's output may be a
tensor or a tuple that starts with one (decoder layers differ between transformers releases); both
are supported, and the form of the output is preserved.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn


@dataclass
class Recorded:
    """Inputs and outputs of the recorded modules in the last forward pass.

    Attributes:
        inputs: {name: first positional input of that module}.
        outputs: {name: its output, the first tensor of a tuple}, copied as it left the module;
            gradients pass through the copy.
        sizes: {name: number of elements of that tuple; 0 for a bare tensor}.
    """

    inputs: dict[str, Tensor] = field(default_factory=dict)
    outputs: dict[str, Tensor] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)


class _StopForwardError(Exception):
    """Raised by a hook to stop a forward pass early; never propagates out of `recording`."""

    def __init__(self, owner: object) -> None:
        self.owner = owner


@contextlib.contextmanager
def recording(
    *,
    inputs: Mapping[str, nn.Module] | None = None,
    outputs: Mapping[str, nn.Module] | None = None,
    stop_before: nn.Module | None = None,
    stop_after: nn.Module | None = None,
) -> Iterator[Recorded]:
    """Record inputs and outputs of modules.

    With `stop_before` or `stop_after` a forward pass ends at that module, and with it the block:
    the block must contain exactly one forward pass, as its last statement.
    """
    seen = Recorded()
    with contextlib.ExitStack() as stack:
        for name, module in (inputs or {}).items():
            _enter(stack, module.register_forward_pre_hook(_input_saver(seen.inputs, name)))
        for name, module in (outputs or {}).items():
            _enter(stack, module.register_forward_hook(_output_saver(seen, name)))
        # Registered last: hooks are called in order, and a stop must not prevent recording.
        if stop_before is not None:
            _enter(stack, stop_before.register_forward_pre_hook(_stopper(seen)))
        if stop_after is not None:
            _enter(stack, stop_after.register_forward_hook(_stopper(seen)))
        try:
            yield seen
        except _StopForwardError as stop:
            if stop.owner is not seen:
                raise


@contextlib.contextmanager
def reading(
    modules: Mapping[str, nn.Module], read: Callable[[str, Tensor], None]
) -> Iterator[None]:
    """Call `read` with a module's name and first positional input before it runs, and keep none."""

    def hook_of(name: str) -> Callable[[nn.Module, Any], None]:
        return lambda _, arguments: read(name, arguments[0])

    with contextlib.ExitStack() as stack:
        for name, module in modules.items():
            _enter(stack, module.register_forward_pre_hook(hook_of(name)))
        yield


@contextlib.contextmanager
def changing(module: nn.Module, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Replace a module's output by `change(output)`; in a tuple, its first element."""

    def hook(_: nn.Module, __: Any, output: Any) -> Any:
        if isinstance(output, Tensor):
            return change(output)
        return (change(output[0]), *output[1:])

    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


@contextlib.contextmanager
def adding(module: nn.Module, extra: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Add `extra(input)` to the output of a module that maps a tensor to a tensor."""

    def hook(_: nn.Module, arguments: Any, output: Tensor) -> Tensor:
        return output + extra(arguments[0])

    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


@contextlib.contextmanager
def in_float32(module: nn.Module, dtype: torch.dtype) -> Iterator[None]:
    """Widen a module's first positional input, unless it is of integers; round its output."""

    def widen(_: nn.Module, arguments: Any) -> Any:
        first = arguments[0]
        return (first.float() if first.is_floating_point() else first, *arguments[1:])

    handle = module.register_forward_pre_hook(widen)
    try:
        with changing(module, lambda output: output.to(dtype)):
            yield
    finally:
        handle.remove()


@contextlib.contextmanager
def answering(modules: Iterable[nn.Module], output: Tensor, size: int = 0) -> Iterator[None]:
    """Make modules return `output` without computation; their hooks are still called.

    Args:
        size: number of elements of the modules' tuple (`Recorded.sizes`); 0 for a bare tensor.
    """
    answer = (output, *[None] * (size - 1)) if size else output
    with contextlib.ExitStack() as stack:
        for module in modules:
            # An instance's own forward is restored too: device maps and wrappers set one.
            stack.callback(_restore_forward, module, module.__dict__.get("forward"))
            module.forward = lambda *_, **__: answer
        yield


@contextlib.contextmanager
def at_places_only(module: nn.Module, places: Tensor) -> Iterator[None]:
    """Compute a position-wise module (an MLP) at some positions only; its output is 0 elsewhere.

    Args:
        module: maps [batch, length, d] to the same shape.
        places: indices into batch · length.
    """
    original = module.forward

    def forward(hidden: Tensor) -> Tensor:
        flat = hidden.reshape(-1, hidden.shape[-1])
        here = places.to(flat.device)
        found = original(flat.index_select(0, here)[None])[0]
        return torch.zeros_like(flat).index_copy(0, here, found).view_as(hidden)

    own = module.__dict__.get("forward")
    module.forward = forward
    try:
        yield
    finally:
        _restore_forward(module, own)


def add_at(output: Tensor, rows: Tensor, places: Tensor, vectors: Tensor) -> Tensor:
    """The output [batch, length, d] with vectors [n, d] added at (rows[i], places[i])."""
    rows, places = rows.to(output.device), places.to(output.device)
    return output.index_put((rows, places), vectors.to(output), accumulate=True)


def at(values: Tensor, rows: Tensor, places: Tensor | int) -> Tensor:
    """values[rows, places], on the device of `rows`, where that of `values` is another."""
    if isinstance(places, Tensor):
        places = places.to(values.device)
    return values[rows.to(values.device), places].to(rows.device)


def forward(model: nn.Module, inputs: Mapping[str, Tensor]) -> Any:
    """One forward pass without a key-value cache."""
    return model(**inputs, use_cache=False)


def _restore_forward(module: nn.Module, forward: Any) -> None:
    del module.forward
    if forward is not None:
        module.forward = forward


def _enter(stack: contextlib.ExitStack, handle: torch.utils.hooks.RemovableHandle) -> None:
    stack.callback(handle.remove)


def _input_saver(into: dict[str, Tensor], name: str) -> Callable[[nn.Module, Any], None]:
    def hook(_: nn.Module, arguments: Any) -> None:
        into[name] = arguments[0]

    return hook


def _output_saver(into: Recorded, name: str) -> Callable[[nn.Module, Any, Any], None]:
    def hook(_: nn.Module, __: Any, output: Any) -> None:
        bare = isinstance(output, Tensor)
        # A copy: the model may change the tensor in place later (Falcon adds attention to it).
        into.outputs[name] = (output if bare else output[0]).clone()
        into.sizes[name] = 0 if bare else len(output)

    return hook


def _stopper(owner: object) -> Callable[..., None]:
    def hook(*_: Any) -> None:
        raise _StopForwardError(owner)

    return hook
