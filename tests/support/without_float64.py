"""A device without float64, emulated: any float64 tensor there is an error, as on Apple's MPS.

A tensor reports the device and keeps its numbers in a CPU tensor. Every operation is carried out on
the CPU after the checks that MPS makes: no float64 result, and no mixing of devices. The device is
torch's place for backends of other packages, which is one for the whole process: import this in a
process of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only, tree_unflatten
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "emulated"
_setup_privateuseone_for_python_backend(NAME)
DEVICE = torch.device(NAME, 0)
READ = ("__int__", "__float__", "__bool__", "__index__", "item", "tolist")
COPY, CONVERT = torch.ops.aten.copy_.default, torch.ops.aten._to_copy.default


class Narrow(Tensor):
    """A tensor on the emulated device."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> Narrow:
        _refuse(inner.dtype)
        made = Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=DEVICE,
        )
        made.inner = inner
        return made

    def __init__(self, inner: Tensor) -> None:
        """`__new__` sets the attributes."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _carried_out(func, args, kwargs or {})


class _Created(TorchDispatchMode):
    """Creates tensors on the emulated device where that is asked for."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _carried_out(func, args, kwargs or {})


class _Numbers(TorchFunctionMode):
    """Tensors from and to Python numbers, which pass below the dispatcher."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.tensor and torch.device(kwargs.get("device") or "cpu").type == NAME:
            return Narrow(torch.tensor(*args, **{**kwargs, "device": "cpu"}))
        if func.__name__ in READ and isinstance(args[0], Narrow):
            return getattr(args[0].inner, func.__name__)()
        return func(*args, **kwargs)


def _carried_out(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    flat, spec = tree_flatten((args, kwargs))
    here = any(isinstance(x, Narrow) for x in flat)
    if here and func not in (COPY, CONVERT):
        plain = [x for x in flat if isinstance(x, Tensor) and not isinstance(x, Narrow)]
        assert all(x.dim() == 0 for x in plain), f"{func} mixes the devices {NAME} and cpu"
    if here and func is CONVERT:
        _refuse(kwargs.get("dtype"))  # MPS may convert before it copies to the CPU
    device = kwargs.get("device")
    result_here = here if device is None else torch.device(device).type == NAME
    inner = [x.inner if isinstance(x, Narrow) else x for x in flat]
    inner = [torch.device("cpu") if isinstance(x, torch.device) else x for x in inner]
    args_inside, kwargs_inside = tree_unflatten(inner, spec)
    out = func(*args_inside, **kwargs_inside)
    if func._schema.is_mutable and isinstance(args[0], Tensor):
        return args[0]
    return tree_map_only(Tensor, Narrow, out) if result_here else out


def _refuse(dtype: torch.dtype | None) -> None:
    if dtype == torch.float64:
        raise TypeError(f"the device {NAME} has no float64")


def to_cpu(tensor: Tensor) -> Tensor:
    """The numbers of a tensor of either device."""
    return tensor.inner if isinstance(tensor, Narrow) else tensor


@contextmanager
def on_narrow_device(model: nn.Module) -> Iterator[None]:
    """Move a model's parameters and buffers to the emulated device; they are not moved back."""
    for module in model.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            setattr(module, name, nn.Parameter(Narrow(parameter.detach()), requires_grad=False))
        for name, buffer in list(module.named_buffers(recurse=False)):
            module._buffers[name] = Narrow(buffer)
    with _Created(), _Numbers():
        yield
