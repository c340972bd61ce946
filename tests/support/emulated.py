"""Accelerators, emulated: tensors that are on a device `gpu:0` by name and compute on the CPU.

    with emulated("cuda") as machine:          # or "mps", or emulated("cuda", devices=2)
        machine.move(model)                    # parameters and buffers; not moved back
        ...                                    # code under test
    print(machine.counts, machine.counts.waits_at.most_common(5))

Every operation is carried out on the CPU after the checks that the device makes: tensors of two
devices are not mixed, a generator belongs to its device, numbers are read by a copy only, and `mps`
has no float64. Where a check fails, the error has the type and the words of the real one. Counted
are the operations (kernels started), the copies in both directions with their bytes, and how often
the host waits for the device, by place in the code under test.

The device is torch's slot for backends of other packages (PrivateUse1), of which there is one in a
process and which stays: use it in a process of its own, and import this before the first backward
pass. With several devices, use eager attention: torch's own SDPA makes its mask on `gpu:0`.

What it cannot see: branches on the *names* `cuda` and `mps` (its type is `gpu`); kernels that a
device lacks, or that differ in the last bits, or depend on the order of threads; tensor cores,
TensorFloat-32, memory and time; streams; the device's random numbers (they are the CPU's); the
kernels of attention (SDPA takes the plain path); pickling, `data_ptr`, and libraries with their own
kernels (bitsandbytes, triton); real values where a kernel reads memory that nothing has written.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import pytest
import torch
import torch.utils._device
from torch import Tensor, nn
from torch.utils.backend_registration import (
    _DummyBackendModule,
    _setup_privateuseone_for_python_backend,
)

Kind = Literal["cuda", "mps"]
NAME = "gpu"
MOST = 8
"""Devices that the process can have."""

aten = torch.ops.aten
CPU = torch.device("cpu")
COPY, CONVERT, READ = (
    aten.copy_.default,
    aten._to_copy.default,
    aten._local_scalar_dense.default,
)
CHOICE = aten._fused_sdp_choice.default
INDEXING = {
    getattr(getattr(aten, name), overload)
    for name, overload in (
        ("index", "Tensor"),
        ("_unsafe_index", "Tensor"),
        ("index_put", "default"),
        ("index_put_", "default"),
        ("_index_put_impl_", "default"),
    )
}
"""Take index tensors of the CPU, which are copied to the device."""
JOINING = {aten.cat.default, aten.stack.default}
"""Take no number (0-dimensional tensor) of the CPU either."""
GROWING = (
    "eye", "eye.m", "arange", "arange.start", "arange.start_step", "linspace", "logspace",
    "range", "range.step", "randperm", "randperm.generator", "tril_indices", "triu_indices",
)  # fmt: skip
"""Make an empty tensor and resize it, which a tensor with its numbers elsewhere cannot follow."""
WAITING = {
    "aten::nonzero", "aten::masked_select", "aten::_unique2", "aten::unique_dim", "aten::equal",
    "aten::unique_consecutive", "aten::bincount", "aten::linalg_eigh", "aten::_linalg_eigh",
    "aten::_linalg_svd", "aten::linalg_eig", "aten::_linalg_check_errors", "aten::histc",
    "aten::linalg_lstsq", "aten::linalg_matrix_rank",
}  # fmt: skip
"""Their result's shape, or their error code, is read by the host."""


@dataclass
class Counts:
    """The requests of the host to the devices.

    Attributes:
        kernels: operations with a result on a device, views not counted.
        to_device, to_host: copies, reads of a single number among the latter.
        waits: how often the host stands still until the device has caught up. A copy in either
            direction from ordinary memory is one.
        waits_at: waits by place (`file:line`) of the code under test; `bytes_at` likewise.
    """

    kernels: int = 0
    to_device: int = 0
    to_host: int = 0
    bytes_to_device: int = 0
    bytes_to_host: int = 0
    waits: int = 0
    waits_at: Counter[str] = field(default_factory=Counter, repr=False)
    bytes_at: Counter[str] = field(default_factory=Counter, repr=False)

    def clear(self) -> None:
        """Start again from nothing."""
        self.__init__()  # type: ignore[misc]


@dataclass
class Machine:
    """The emulated machine of an `emulated` block.

    Attributes:
        kind: `cuda` or `mps`.
        devices: number of devices.
        counts: of the whole block; `counts.clear()` begins anew.
        code: part of the path of the code under test, for the places of the counts.
    """

    kind: Kind
    devices: int
    code: str
    counts: Counts = field(default_factory=Counts)

    def device(self, index: int = 0) -> torch.device:
        """`gpu:index`."""
        return torch.device(NAME, index)

    def move(self, model: nn.Module, index: int = 0) -> nn.Module:
        """Put a model's parameters and buffers on a device, tied ones once; it stays there."""
        seen: dict[int, tuple[Tensor, Tensor]] = {}  # the old one too: its id stays its own
        for module in model.modules():
            for held in (module._parameters, module._buffers):
                for name, value in held.items():
                    if value is None:
                        continue
                    if id(value) not in seen:
                        seen[id(value)] = value, self._moved(value, index)
                    held[name] = seen[id(value)][1]
        return model

    def _moved(self, value: Tensor, index: int) -> Tensor:
        there = Emulated(to_cpu(value).detach(), self.device(index))
        if isinstance(value, nn.Parameter):
            return nn.Parameter(there, requires_grad=value.requires_grad)
        return there

    def place(self) -> str:
        """Where the code under test is: `file:line` of its innermost frame."""
        frame = sys._getframe(2)
        while frame is not None:
            name = frame.f_code.co_filename
            if self.code in name and name != __file__:
                return f"{name.rsplit(self.code, 1)[1].lstrip('/')}:{frame.f_lineno}"
            frame = frame.f_back
        return "elsewhere"


_machine: Machine | None = None
_library: Any = None
_libraries: list[Any] = []
_lock = threading.Lock()


class Emulated(Tensor):
    """A tensor on an emulated device; `inner` has its numbers.

    To torch's own code it is on `gpu:0` always: the slot has one device for it.
    """

    inner: Tensor
    place: torch.device

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self.place

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """Copies between emulated devices, of which torch's own code knows one only."""
        named = [kwargs.get("device"), *args[:1]]
        named = [x.device if isinstance(x, Tensor) else x for x in named]
        named = [x for x in named if isinstance(x, (str, torch.device))]
        if named and torch.device(named[0]).type == NAME:
            target = torch.device(NAME, torch.device(named[0]).index or 0)
            if target != self.place:
                return _Between.apply(self, target).to(*args, **kwargs)
            kwargs.pop("device", None)
            kinds = [x.dtype if isinstance(x, Tensor) else x for x in args]
            kinds = [x for x in kinds if isinstance(x, torch.dtype)]
            return super().to(kwargs.pop("dtype", None) or (kinds or [self.dtype])[0], **kwargs)
        return super().to(*args, **kwargs)

    @staticmethod
    def __new__(cls, inner: Tensor, device: torch.device) -> Emulated:
        _refuse(inner.dtype)
        made = Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=torch.device(NAME, 0),
        )
        made.inner, made.place = inner, device
        return made

    def __init__(self, inner: Tensor, device: torch.device) -> None:
        """`__new__` sets the attributes."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _carried_out(func, args, kwargs or {})

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if id(self) not in memo:
            copied = self.detach().clone().requires_grad_(self.requires_grad)
            memo[id(self)] = nn.Parameter(copied) if isinstance(self, nn.Parameter) else copied
        return memo[id(self)]

    def __getitem__(self, index: Any) -> Tensor:
        return super().__getitem__(_index(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(_index(index), value)

    def untyped_storage(self) -> Any:
        """Where its numbers lie, by which transformers finds tied weights when it saves a model."""
        return self.inner.untyped_storage()

    def data_ptr(self) -> int:
        return self.inner.data_ptr()

    def tolist(self) -> Any:
        return self.detach().cpu().tolist()

    def numpy(self, *, force: bool = False) -> Any:
        if force:
            return self.detach().cpu().numpy()
        raise TypeError(
            f"can't convert {self.device} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.numpy()

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"{self.inner!r} on {self.device}"


class _Between(torch.autograd.Function):
    """A copy to another emulated device, whose gradient is copied back."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, device: torch.device) -> Tensor:  # type: ignore[override]
        ctx.place = value.device
        return aten._to_copy.default(value, device=device)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]
        return aten._to_copy.default(gradient, device=ctx.place), None


def _index(index: Any) -> Any:
    """Lists as tensors of the CPU: torch makes tensors of them below the dispatcher."""
    if isinstance(index, tuple):
        return tuple(_index(each) for each in index)
    return torch.tensor(index) if isinstance(index, list) else index


def to_cpu(tensor: Tensor) -> Tensor:
    """The numbers of a tensor of any device, without a copy and without being counted."""
    return tensor.inner if isinstance(tensor, Emulated) else tensor


@contextmanager
def emulated(kind: Kind = "cuda", devices: int = 1, code: str = "/thinkeval/") -> Iterator[Machine]:
    """Devices `gpu:0` … of a kind, for the block; blocks are not nested.

    Args:
        kind: `cuda` (float64, several devices), or `mps` (neither).
        code: part of the path of the code under test, for the places of the counts.
    """
    global _machine
    assert _machine is None, "emulated devices are in use already"
    assert 0 < devices <= (MOST if kind == "cuda" else 1)
    from thinkeval.editing import linear_algebra, models

    _machine = Machine(kind, devices, code)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("tensor", "as_tensor"):
            patch.setattr(torch, name, _from_numbers(getattr(torch, name)))
        patch.setattr(nn.Module, "to", _module_to(nn.Module.to))
        # The project's rules for devices by their names, and transformers' loader.
        patch.setattr(models, "placement", lambda *_, **__: {})
        if kind == "mps":
            patch.setattr(linear_algebra, "WITHOUT_FLOAT64", frozenset({NAME}))
        try:
            yield _machine
        finally:
            _machine = None


def _module_to(to: Any) -> Any:
    """`Module.to`, which would untie tied weights, as it makes new ones of a tensor subclass."""

    def moved(module: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
        target = args[0] if args else kwargs.get("device")
        named = isinstance(target, (str, torch.device)) and torch.device(target)
        if not named or named.type != NAME or _machine is None:
            return to(module, *args, **kwargs)
        return _machine.move(module, named.index or 0)

    return moved


def _from_numbers(make: Any) -> Any:
    """`torch.tensor`, which copies below the dispatcher, as a tensor of the CPU and a copy."""

    def made(
        data: Any, *, device: Any = None, requires_grad: bool = False, **kwargs: Any
    ) -> Tensor:
        if device is None or torch.device(device).type != NAME:
            own = {"requires_grad": True} if requires_grad else {}
            return make(data, device=device, **own, **kwargs)
        found = (
            make(data, **kwargs)
            if isinstance(data, Emulated)
            else make(data, device="cpu", **kwargs)
        )
        return found.to(device).requires_grad_(requires_grad)

    return made


class _Module(_DummyBackendModule):
    def device_count(self) -> int:
        return _machine.devices if _machine else 0

    def manual_seed_all(self, seed: int) -> None:
        """The CPU's generator draws."""


def _set_up() -> None:
    """Take torch's slot, once: what is created on the device becomes an `Emulated`."""
    global _library
    if _library is None:
        _setup_privateuseone_for_python_backend(NAME, _Module())
        _library = torch.library.Library("_", "IMPL")
        _library.fallback(lambda op, *a, **k: _carried_out(op, a, k), "PrivateUse1")
        own = torch.library.Library("aten", "IMPL")
        for name in GROWING:
            packet, _, overload = name.partition(".")
            op = getattr(getattr(aten, packet), overload or "default")
            own.impl(name, lambda *a, _op=op, **k: _carried_out(_op, a, k), "PrivateUse1")
        _libraries.append(own)


# Now: autograd starts a thread for each kind of device at the first backward pass, and torch keeps
# the set of the functions that `with torch.device(...)` redirects when it is first asked for.
_set_up()
torch.utils._device._device_constructors()


def _carried_out(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    machine = _machine
    assert machine is not None, f"{func} on {NAME} outside of an emulated block"
    tensors: list[Tensor] = []
    args_in = [_inside(x, tensors) for x in args]
    kwargs_in = {name: _inside(x, tensors) for name, x in kwargs.items()}
    device = _result_device(machine, func, args, kwargs, tensors)
    if func is CHOICE:
        return 0
    _check(machine, func, args, kwargs, tensors, device)
    _count(machine, func, args, tensors, device)
    if kwargs_in.get("pin_memory"):
        kwargs_in["pin_memory"] = False
    out = func(*args_in, **kwargs_in)
    written = _written(func, args, kwargs)
    if written is not None:
        return written
    return out if device.type == "cpu" else _outside(out, device)


def _inside(value: Any, tensors: list[Tensor]) -> Any:
    """An argument for the CPU; its tensors are added to the list."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return value.inner if isinstance(value, Emulated) else value
    if isinstance(value, (list, tuple)):
        return [_inside(x, tensors) for x in value]
    return CPU if isinstance(value, torch.device) else value


def _outside(value: Any, device: torch.device) -> Any:
    if isinstance(value, Tensor):
        return Emulated(value, device)
    if isinstance(value, (list, tuple)):
        return type(value)(_outside(x, device) for x in value)
    return value


def _written(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The arguments that an operation in place returns; None if it returns new tensors."""
    outs = [kwargs.get(name, args[i] if i < len(args) else None) for i, name in _writes(func)]
    return outs[0] if len(outs) == 1 else tuple(outs) or None


@cache
def _writes(func: Any) -> tuple[tuple[int, str], ...]:
    """Places and names of the arguments that an operation writes to and returns."""
    schema, found = func._schema, []
    for returned in schema.returns if schema.is_mutable else ():
        if returned.alias_info is None or not returned.alias_info.is_write:
            return ()
        for i, argument in enumerate(schema.arguments):
            info = argument.alias_info
            if info is not None and info.before_set == returned.alias_info.before_set:
                found.append((i, argument.name))
    return tuple(found)


def _result_device(
    machine: Machine, func: Any, args: Any, kwargs: dict[str, Any], tensors: list[Tensor]
) -> torch.device:
    if func is COPY:
        return args[0].device
    asked = kwargs.get("device")
    if asked is not None:
        asked = torch.device(asked)
        index = asked.index or 0
        if asked.type == NAME and isinstance(next(iter(tensors), None), Emulated) and _alike(func):
            return tensors[0].device  # torch's own code knows `gpu:0` only
        if asked.type == NAME and index >= machine.devices:
            raise RuntimeError(f"{machine.kind} error: invalid device ordinal ({index})")
        return torch.device(NAME, index) if asked.type == NAME else asked
    return next((x.device for x in tensors if isinstance(x, Emulated)), CPU)


def _check(
    machine: Machine,
    func: Any,
    args: Any,
    kwargs: dict[str, Any],
    tensors: list[Tensor],
    device: torch.device,
) -> None:
    _refuse(kwargs.get("dtype"))  # MPS may convert before it copies to the CPU
    generator = kwargs.get("generator")
    if generator is not None and device.type == NAME:
        raise RuntimeError(
            f"Expected a '{NAME}' device type for generator but found 'cpu' ({func})"
        )
    if func in (COPY, CONVERT):
        return
    there = {x.device for x in tensors if isinstance(x, Emulated)}
    plain = [x for x in tensors if not isinstance(x, Emulated)]
    if func in INDEXING and isinstance(args[0], Emulated):
        indices = {id(x) for x in args[1] if x is not None}
        plain = [x for x in plain if id(x) not in indices]
    if func not in JOINING:
        plain = [x for x in plain if x.dim()]
    if len(there) + bool(plain and there) > 1:
        found = " and ".join(sorted(map(str, there)) + ["cpu"] * bool(plain))
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{found}! ({func})"
        )


def _count(
    machine: Machine, func: Any, args: Any, tensors: list[Tensor], device: torch.device
) -> None:
    counts = machine.counts
    to_host = to_device = waits = 0
    if func is READ:
        to_host = waits = 1
    elif func in (COPY, CONVERT):
        source = tensors[1] if func is COPY else tensors[0]
        if source.device != device:
            waits = 1
            to_host, to_device = device.type == "cpu", source.device.type == "cpu"
    elif func in INDEXING and isinstance(args[0], Emulated):
        chosen = [x for x in args[1] if x is not None]
        to_device = sum(not isinstance(x, Emulated) for x in chosen)
        waits = to_device + sum(x.dtype in (torch.bool, torch.uint8) for x in chosen)
    elif _name(func) in WAITING:
        waits = 1
    kernel = device.type == NAME and not _is_view(func)
    if not (kernel or waits):
        return
    if not waits:
        counts.kernels += 1
        return
    place = machine.place()
    with _lock:
        counts.kernels += kernel
        counts.to_host += to_host
        counts.to_device += to_device
        counts.waits += waits
        counts.waits_at[place] += waits
        size = tensors[-1].numel() * tensors[-1].element_size()
        counts.bytes_to_host += size * to_host
        counts.bytes_to_device += size * bool(to_device)
        counts.bytes_at[place] += size


@cache
def _alike(func: Any) -> bool:
    return _name(func).endswith("_like") or _name(func).startswith("aten::new_")


@cache
def _name(func: Any) -> str:
    return func._schema.name


@cache
def _is_view(func: Any) -> bool:
    returns = func._schema.returns
    info = returns[0].alias_info if returns else None
    return info is not None and not info.is_write


def _refuse(dtype: torch.dtype | None) -> None:
    if _machine and _machine.kind == "mps" and dtype in (torch.float64, torch.complex128):
        raise TypeError(
            "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support "
            "float64. Please use float32 instead."
        )
