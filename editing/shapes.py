"""Run code on a model's shapes: its memory, operations and copies, without weights or a device.

The model is on torch's `meta` device, whose tensors have a shape and no numbers, and a dispatch
mode sees each operation. Small tensors of whole numbers and of truth values (tokens, positions,
masks) stay on the CPU, so that they can be indices and be read. Where they follow from weights they
are assumed: a condition holds (so an optimisation takes all its steps), an index is in the middle,
an error code is 0. A number that the host reads is 1, and the eigenvalues of a matrix are spread
over eight powers of ten.
"""

from __future__ import annotations

import math
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from ..loaders.records import RewriteRequest
from . import registry
from .architectures import adapter_for
from .covariance import Covariance
from .mend.network import untrained

aten, _DEVICE_OF = torch.ops.aten, Tensor.device.__get__  # type: ignore[attr-defined]
CPU, DEVICE = torch.device("cpu"), torch.device("meta")
WEIGHTS = "weights"
SMALL = 2**20
"""Elements of a tensor that has numbers."""
CONDITION = 2**12
"""Elements of a comparison that is a condition; one of more elements chooses the first."""
_FOLDER = Path(__file__).parent
_BELOW = ("shapes", "nethook", "linear_algebra", "interruption", "architectures/_adapter")
"""Modules that compute for another one, which is named as the place."""
_INDEXING = ("index", "_unsafe_index", "index_put", "index_put_", "_index_put_impl_")
_TAKING = ("index", "_unsafe_index", "index_select", "gather", "embedding")
"""Read only what they return."""
_SHAPED = ("nonzero", "masked_select", "_unique2", "unique_dim", "unique_consecutive", "bincount",
           "repeat_interleave", "equal")  # fmt: skip
"""The shape of their result depends on numbers."""
_FAULTS = ("isnan", "isinf")
"""Comparisons that do not hold."""
_CHOOSING = ("gt", "ge", "lt", "le")
"""Comparisons that choose, where they are of many elements; others hold for each."""
_ALGEBRA: dict[str, tuple[str, Callable[[Any], float]]] = {
    "_linalg_eigh": ("eigh", lambda a: (9.0 if a[2:] != (False,) else 4 / 3) * a[0].shape[-1] ** 3),
    "linalg_lu_factor_ex": ("lu", lambda a: 2 / 3 * a[0].shape[-1] ** 3),
    "_linalg_solve_ex": ("lu", lambda a: 2 / 3 * a[0].shape[-1] ** 3),
    "linalg_lu_solve": ("lu", lambda a: 2.0 * a[0].shape[-1] * a[2].numel()),
    "_linalg_svd": ("eigh", lambda a: 20.0 * min(a[0].shape[-2:]) * a[0].numel()),
    "linalg_qr": ("lu", lambda a: 2.0 * min(a[0].shape[-2:]) * a[0].numel()),
}
"""Linear algebra: the kind of its speed, and its operations."""


class Kernel(NamedTuple):
    """An operation of the device.

    Attributes:
        kind: of its speed: a number type (`bfloat16`), or `eigh` or `lu` in float64.
        flops: operations of matrix products and linear algebra.
        bytes: read and written.
    """

    kind: str
    flops: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Speed:
    """The measured speed of a device with matrices of a model's shape.

    Attributes:
        flops: FLOP/s of a product with 64 rows, as in most batches of an edit.
        reading: bytes of weights read in a second by a product with one row.
        wide: FLOP/s in float64; `eigh` of eigenvectors, as 9 n³, and `lu` of factors, as 2/3 n³.
        start: seconds to start an operation.
        copying: bytes copied from and to the device in a second.
    """

    flops: float
    reading: float
    wide: float
    eigh: float
    lu: float
    start: float
    copying: float


@dataclass(slots=True)
class Cost:
    """The cost of a run on shapes.

    Attributes:
        peak: bytes on the device at the peak, and `parts` of them: `weights`, and what modules of
            this package allocated, by name (`key_value/values`).
        host: bytes of large tensors in the host's memory, at their peak.
        kernels: how often each operation runs.
        copied: bytes copied from and to the device.
        tokens: that the model's embeddings are looked up for.
    """

    peak: int = 0
    parts: dict[str, int] = field(default_factory=dict)
    host: int = 0
    kernels: Counter[Kernel] = field(default_factory=Counter)
    copied: int = 0
    tokens: int = 0

    @property
    def flops(self) -> dict[str, float]:
        """Operations by number type; those of eigenvectors and LU factors by themselves."""
        found: dict[str, float] = {}
        for kernel, times in self.kernels.items():
            if kernel.flops:
                found[kernel.kind] = found.get(kernel.kind, 0.0) + kernel.flops * times
        return found

    def seconds(self, speed: Speed) -> float:
        """Return the time on a device: of each operation, the longer of computing and reading."""
        rates = {"float64": speed.wide, "eigh": speed.eigh, "lu": speed.lu}
        found = self.copied / speed.copying
        for kernel, times in self.kernels.items():
            rate = rates.get(kernel.kind, speed.flops)
            found += times * (speed.start + max(kernel.flops / rate, kernel.bytes / speed.reading))
        return found


@contextmanager
def on_shapes(model: nn.Module) -> Iterator[Cost]:
    """Run the block on shapes, with the model on the `meta` device; the cost is complete after it.

    No tensor of the size of a weight is allocated. Other threads are not affected.
    """
    mode = _OnShapes(getattr(model, "get_input_embeddings", lambda: None)())
    for parameter in (*model.parameters(), *model.buffers()):
        mode.hold(parameter, WEIGHTS)
    with _Places(), mode:
        yield mode.cost


class _Places(TorchFunctionMode):
    """Act above the dispatcher: whole numbers say that they are on the device."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in (torch.tensor, torch.as_tensor) and kwargs.get("device") is not None:
            return func(*args, **{**kwargs, "device": CPU}).to(kwargs["device"])
        found = func(*args, **kwargs)
        if func == _DEVICE_OF and found == CPU and not args[0].dtype.is_floating_point:
            return DEVICE
        return found


class _OnShapes(TorchDispatchMode):
    """Sees each operation: runs it on numbers where there are some, else on shapes, and counts."""

    def __init__(self, words: Any) -> None:
        super().__init__()
        self.cost, self._words = Cost(), words
        self._held: Any = weakref.WeakKeyDictionary()
        self._now: Counter[str] = Counter()
        self._known: dict[Any, Any] = {}
        self._sum = self._host = 0

    def hold(self, tensor: Tensor, part: str = "", *, host: bool = False) -> None:
        """Count a tensor's memory until it is freed."""
        storage = tensor.untyped_storage()
        if storage not in self._held:
            part, size = part or _place(), storage.nbytes()
            self._held[storage] = host
            self._add(size, part, host)
            if part != WEIGHTS:
                released = weakref.finalize(storage, self._add, -size, part, host)
                released.atexit = False  # type: ignore[misc]

    def _add(self, size: int, part: str, host: bool) -> None:
        if host:
            self._host += size
            self.cost.host = max(self.cost.host, self._host)
            return
        self._sum += size
        self._now[part] += size
        if self._sum > self.cost.peak:
            self.cost.peak, self.cost.parts = self._sum, {p: n for p, n in self._now.items() if n}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunction():  # or each `x.dtype` here goes through `_Places`
            return self._carried_out(func, args, kwargs or {})

    def _carried_out(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        name, tensors, asked = _name(func), _tensors((args, kwargs)), kwargs.get("device")
        there = [x for x in tensors if x.is_meta]
        host = all(self._held.get(x.untyped_storage()) for x in there) if there else asked != DEVICE
        if not there and (host or not _is_floating(tensors, kwargs)) and _is_small(tensors, args):
            return func(*args, **_on(kwargs, CPU))
        if name == "_local_scalar_dense" or name in _SHAPED or asked == CPU:
            self.cost.copied += sum(map(_bytes, there))
            host = True
            if name in _SHAPED or all(x.numel() <= SMALL for x in there):
                return func(*_mapped(args, _number), **_mapped(kwargs, _number))
        elif asked == DEVICE or name == "copy_":
            self.cost.copied += sum(map(_bytes, tensors[-1:]))
        if name in _INDEXING:
            args = (args[0], _places(args[1]), *args[2:])
        shapes, options = _mapped(args, _as_meta), _on(_mapped(kwargs, _as_meta), DEVICE)
        out = self._result(func, shapes, options)
        if func._schema.is_mutable:
            return args[0] if isinstance(args[0], Tensor) else out  # numbers stay as they are
        found = _mapped(out, lambda x: self._kept(x, name, shapes, host))
        if name == "_linalg_eigh":  # LAPACK's syevd works in twice the matrix
            self.hold(args[0].new_empty(2, *args[0].shape))
        return found

    def _kept(self, result: Tensor, name: str, args: Any, host: bool) -> Tensor:
        """The result of an operation, counted until it is freed; the numbers of a small one."""
        if name == "_linalg_eigh" and result.dim() == 1:
            return torch.logspace(-6, 2, len(result), dtype=result.dtype)
        if result.is_floating_point() or result.numel() > SMALL:
            self.hold(result, host=host)
            return result
        index = isinstance(args[0], Tensor) and args[0].dim() and "linalg" not in name
        if result.dtype == torch.bool and name not in _CHOOSING:
            return torch.full(result.shape, name not in _FAULTS)
        return _assumed(result, args[0].shape[-1] // 2 if index else 0)

    def _result(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """The shapes of an operation's result, which is counted; equal ones are computed once."""
        if func._schema.is_mutable or _is_view(func):
            out = func(*args, **kwargs)
            if func._schema.is_mutable:
                self.cost.kernels[_kernel(func, args, kwargs, out)] += 1
            return out
        key = (func, _key(args), _key(kwargs))
        if key not in self._known:
            out = func(*args, **kwargs)
            self._known[key] = out, _kernel(func, args, kwargs, out)
        out, kernel = self._known[key]
        self.cost.kernels[kernel] += 1
        if _name(func) == "embedding" and self._words is not None and args[0] is self._words.weight:
            self.cost.tokens += args[1].numel()
        return _mapped(out, _fresh)


def _kernel(func: Any, args: Any, kwargs: Any, out: Any) -> Kernel:
    name, read, results = _name(func), _tensors((args, kwargs)), _tensors(out)
    kind, flops = _type((read or results)[0]), 0.0
    if formula := flop_registry.get(getattr(aten, name.removesuffix("_"), None)):
        flops = float(formula(*args, **kwargs, out_val=out))
    elif name in _ALGEBRA:
        kind, count = _ALGEBRA[name]
        flops = float(count(args))
    moved = [*results, *results] if name in _TAKING else [*results, *read]
    return Kernel(kind, flops, sum(map(_bytes, moved)))


def _key(value: Any) -> Any:
    """Return all that the shape of a result depends on."""
    if isinstance(value, Tensor):
        return value.shape, value.stride(), value.dtype
    if isinstance(value, (list, tuple)):
        return tuple(map(_key, value))
    if isinstance(value, dict):
        return tuple((name, _key(each)) for name, each in value.items())
    return type(value), value


def _on(kwargs: dict[str, Any], device: torch.device) -> dict[str, Any]:
    """Keyword arguments for a device; shapes need neither random numbers nor pinned memory."""
    without = {"generator", "pin_memory"} if device == DEVICE else {"pin_memory"}
    found = {name: None if name in without else value for name, value in kwargs.items()}
    return found | {"device": device} if kwargs.get("device") else found


def _bytes(tensor: Tensor) -> int:
    return min(tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes())


def _type(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _is_floating(tensors: Sequence[Tensor], kwargs: dict[str, Any]) -> bool:
    """Return True if an operation makes a tensor of floating point numbers."""
    first = tensors[0].dtype if tensors else torch.get_default_dtype()
    return (kwargs.get("dtype") or first).is_floating_point


def _is_small(tensors: Sequence[Tensor], args: Any) -> bool:
    """Return True unless an operation makes a large tensor of the shape that it is given."""
    shape = args[0] if not tensors and args and isinstance(args[0], (list, tuple)) else ()
    return math.prod(shape) <= SMALL


def _tensors(value: Any) -> list[Tensor]:
    """The tensors of nested arguments."""
    found: list[Tensor] = []
    _mapped(value, found.append)
    return found


def _mapped(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """Nested arguments with their tensors changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)([_mapped(each, change) for each in value])
    if isinstance(value, dict):
        return {name: _mapped(each, change) for name, each in value.items()}
    return value


def _as_meta(tensor: Tensor) -> Tensor:
    return tensor if tensor.is_meta else _fresh(tensor)


def _fresh(tensor: Tensor) -> Tensor:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=DEVICE)


def _number(tensor: Tensor) -> Tensor:
    """The tensor, if it has numbers; else those that are assumed."""
    return _assumed(tensor, int(tensor.is_floating_point())) if tensor.is_meta else tensor


def _assumed(tensor: Tensor, number: int) -> Tensor:
    if tensor.dtype != torch.bool:
        return torch.full(tensor.shape, number, dtype=tensor.dtype)
    found = torch.full(tensor.shape, tensor.numel() <= CONDITION)
    found.view(-1)[:1] = True
    return found


def _places(indices: Sequence[Any]) -> list[Any]:
    """Masks as numbers of the places that they choose."""
    found: list[Any] = []
    for index in indices:
        mask = index is not None and index.dtype in (torch.bool, torch.uint8)
        found += _number(index).nonzero(as_tuple=True) if mask else [index]
    return found


@cache
def _is_view(func: Any) -> bool:
    return any(each.alias_info is not None for each in func._schema.returns)


@cache
def _name(func: Any) -> str:
    return func._schema.name.removeprefix("aten::")


def _place() -> str:
    """The module of this folder that is running: `key_value/values`."""
    frame = sys._getframe(2)
    while frame is not None:
        found = _module(frame.f_code.co_filename)
        if found and found not in _BELOW:
            return found
        frame = frame.f_back
    return "elsewhere"


@cache
def _module(file: str) -> str:
    path = Path(file)
    return path.relative_to(_FOLDER).with_suffix("").as_posix() if _FOLDER in path.parents else ""


@dataclass(frozen=True)
class _Moments(Mapping[str, Tensor]):
    """Covariances by the numbers of their rows; each use is a copy on the device."""

    sizes: dict[str, int]

    def __getitem__(self, name: str) -> Tensor:
        return torch.empty(self.sizes[name], self.sizes[name], device=DEVICE)

    def __iter__(self) -> Iterator[str]:
        return iter(self.sizes)

    def __len__(self) -> int:
        return len(self.sizes)


STEPS = ("num_steps", "v_num_grad_steps")
"""Hyperparameters that are a number of equal steps: three are run, and the others multiplied."""


def edit(
    method: Any,
    model: nn.Module,
    tokenizer: Any,
    request: RewriteRequest,
    hparams: Any,
    retain: Sequence[tuple[str, str]] = (),
) -> Cost:
    """Return the cost of an edit: the method itself is run on shapes.

    Args:
        model: on the `meta` device, in the number type of the run, in evaluation mode.
        retain: prompts and answers that a method of forgetting retains.

    Raises:
        EditingError: the method refuses the model, the request or the hyperparameters.
    """
    is_control = hasattr(method, "reference")
    values = method.reference(hparams)[1] if is_control else hparams
    name = next((name for name in STEPS if getattr(values, name, 0) > 3), None)
    if name is None:
        return _edit(method, model, tokenizer, request, hparams, retain)

    def cost(n: int) -> Cost:
        change = {"hparams": {**hparams.hparams, name: n}} if is_control else {name: n}
        chosen = replace(hparams, **change)
        return _edit(method, model, tokenizer, request, chosen, retain)

    found, less, times = cost(3), cost(2), getattr(values, name) - 3
    found.copied += times * (found.copied - less.copied)
    found.tokens += times * (found.tokens - less.tokens)
    for kernel in found.kernels:
        found.kernels[kernel] += times * (found.kernels[kernel] - less.kernels[kernel])
    return found


def _edit(
    method: Any, model: nn.Module, tokenizer: Any, request: RewriteRequest, hparams: Any,
    retain: Sequence[tuple[str, str]],
) -> Cost:  # fmt: skip
    adapter = adapter_for(model)
    layers = registry.covariance_layers(method, hparams)
    sizes = {adapter.mlp_out(layer).name: adapter.key_size(layer) for layer in layers}
    moments = Covariance(_Moments(sizes)) if layers else None
    with on_shapes(model) as cost:
        state = untrained_state(method, model, hparams, retain)
        method.execute(model, tokenizer, [request], hparams, moments, state=state)
    cost.host += sum(4 * size**2 for size in sizes.values())
    return cost


def untrained_state(
    method: Any, model: nn.Module, hparams: Any, retain: Sequence[tuple[str, str]]
) -> dict[str, Any] | None:
    """Return the state that a method needs, with nothing trained or stored; None without one.

    Args:
        retain: prompts and answers, for a method that retains facts.
    """
    state: dict[str, Any] = {}
    if getattr(method, "NEEDS_RETAIN", False):
        state["retain"] = list(retain)
    if getattr(method, "NEEDS_HYPERNETWORK", False):
        state["hypernetwork"] = untrained(model, hparams)
    return state or None


def characters(number: int, vocabulary: int) -> Any:
    """Return a tokenizer with a token for every `number` characters."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {f"word{i}": i for i in range(min(vocabulary, 1000))}
    made = Tokenizer(models.WordLevel(words, unk_token="word0"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex(rf"[\s\S]{{1,{number}}}"), "isolated")
    made.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="word1")
