"""Run code on a model's shapes: its memory, operations and copies, without weights or a device.

The model's device is torch's `meta` device, whose tensors have shapes and no numbers, and a
dispatch mode sees each operation. Small tensors whose numbers follow from the program alone
(tokens, masks, positions) have them beside the shape, so that they can be indices and be read.
What follows from weights is assumed where the host reads it: a number is 1, an error code 0, a
condition holds (so an optimisation takes all its steps), a choice among many chooses one, and the
eigenvalues of a covariance are spread over eight powers of ten.
"""

from __future__ import annotations

import math
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, ValuesView
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
from . import nethook, registry
from .architectures import adapter_for
from .key_value.neurons import n_slots
from .mend.network import untrained

aten = torch.ops.aten
WEIGHTS = "weights"
CPU, DEVICE = torch.device("cpu"), torch.device("meta")
SMALL = 2**20
"""Elements of a tensor whose numbers are computed where they follow from the program."""
LARGE = 2**22
"""Elements of a tensor of the host that is one number, repeated."""
ROWS = 2**12
"""Elements of a comparison that is a condition; one of more elements chooses among them."""
_FOLDER = Path(__file__).parent
_BELOW = ("shapes", "nethook", "linear_algebra", "interruption", "architectures/_adapter")
"""Modules that compute for another one, which is named as the place."""

_READ, _COPY, _CONVERT = (
    aten._local_scalar_dense.default,
    aten.copy_.default,
    aten._to_copy.default,
)
_INDEXING = {"aten::index", "aten::_unsafe_index", "aten::index_put", "aten::index_put_",
             "aten::_index_put_impl_"}  # fmt: skip
_TAKING = {"aten::index", "aten::_unsafe_index", "aten::index_select", "aten::gather",
           "aten::embedding"}  # fmt: skip
"""Read only what they return."""
_SHAPED = {"aten::nonzero", "aten::masked_select", "aten::_unique2", "aten::unique_dim",
           "aten::unique_consecutive", "aten::bincount", "aten::repeat_interleave",
           "aten::equal"}  # fmt: skip
"""Their result's shape depends on numbers."""
_MAKING = {"aten::empty", "aten::zeros", "aten::ones", "aten::full", "aten::rand", "aten::randn",
           "aten::new_empty", "aten::new_zeros", "aten::new_ones", "aten::new_full"}  # fmt: skip
_ALGEBRA: dict[str, tuple[str, Callable[[Any], float]]] = {
    "aten::_linalg_eigh": (
        "eigh",
        lambda a: (9.0 if a[2:] == (True,) or not a[2:] else 4 / 3) * _volume(a[0], 3),
    ),
    "aten::linalg_lu_factor_ex": ("lu", lambda a: 2 / 3 * _volume(a[0], 3)),
    "aten::_linalg_solve_ex": ("lu", lambda a: 2 / 3 * _volume(a[0], 3)),
    "aten::linalg_lu_solve": ("lu", lambda a: 2.0 * _volume(a[0], 2) * a[2].shape[-1]),
    "aten::_linalg_svd": ("eigh", lambda a: 20.0 * min(a[0].shape[-2:]) * a[0].numel()),
    "aten::linalg_qr": ("lu", lambda a: 2.0 * min(a[0].shape[-2:]) * a[0].numel()),
}
"""Linear algebra: the kind of its speed, and its operations."""


def _volume(matrix: Tensor, power: int) -> float:
    return float(matrix.shape[-1] ** power)


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
        flops: FLOP/s of a product with `TOKENS` rows, beyond reading the matrix.
        reading: bytes of weights read in a second by a product with one row.
        wide: FLOP/s in float64, where linear systems are solved; `eigh` of eigenvectors, counted as
            9 n³, and `lu` of LU factors, as 2/3 n³.
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
        copies: number and bytes of copies `to device` and `to host`.
    """

    peak: int = 0
    parts: dict[str, int] = field(default_factory=dict)
    host: int = 0
    kernels: Counter[Kernel] = field(default_factory=Counter)
    copies: Counter[str] = field(default_factory=Counter)
    copied: Counter[str] = field(default_factory=Counter)

    @property
    def flops(self) -> dict[str, float]:
        """Operations by number type; those of eigenvectors and LU factors by themselves."""
        found: Counter[str] = Counter()
        for kernel, times in self.kernels.items():
            found[kernel.kind] += kernel.flops * times  # type: ignore[assignment]
        return {kind: flops for kind, flops in found.items() if flops}

    def seconds(self, speed: Speed) -> float:
        """Return the time on a device: of each operation, the longer of computing and reading."""
        rates = {"float64": speed.wide, "eigh": speed.eigh, "lu": speed.lu}
        found = sum(self.copied.values()) / speed.copying
        for kernel, times in self.kernels.items():
            rate = rates.get(kernel.kind, speed.flops)
            found += times * (speed.start + max(kernel.flops / rate, kernel.bytes / speed.reading))
        return found

    def extended(self, shorter: Cost, times: int) -> Cost:
        """Return the cost of `times` more steps; a step is the difference from a shorter run."""

        def longer(now: Counter[Any], before: Counter[Any]) -> Counter[Any]:
            return +Counter({key: n + times * (n - before[key]) for key, n in now.items()})

        return Cost(
            self.peak,
            self.parts,
            self.host,
            longer(self.kernels, shorter.kernels),
            longer(self.copies, shorter.copies),
            longer(self.copied, shorter.copied),
        )


@contextmanager
def on_shapes(model: nn.Module) -> Iterator[Cost]:
    """Run the block on shapes, with the model on the `meta` device; the cost is complete after it.

    Nothing is read, and no tensor of the size of a weight is allocated. Other threads are not
    affected.
    """
    mode = _OnShapes()
    for parameter in {id(p): p for p in (*model.parameters(), *model.buffers())}.values():
        mode.hold(parameter, WEIGHTS)
    with _Making(), mode:
        yield mode.cost


class _Making(TorchFunctionMode):
    """`torch.tensor(…, device=…)`, which copies below the dispatcher, in two steps."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in (torch.tensor, torch.as_tensor) and kwargs.get("device") is not None:
            place = kwargs.pop("device")
            return func(*args, **kwargs).to(place)
        return func(*args, **kwargs)


class _OnShapes(TorchDispatchMode):
    """Sees each operation: runs it on shapes, on numbers where they are known, and counts it."""

    def __init__(self) -> None:
        super().__init__()
        self.cost = Cost()
        self._held: Any = weakref.WeakKeyDictionary()
        self._numbers: Any = weakref.WeakKeyDictionary()
        self._now: Counter[str] = Counter()
        self._sum = self._host = 0
        self._random = torch.Generator().manual_seed(0)

    def hold(self, tensor: Tensor, part: str = "") -> None:
        """Count a tensor's memory until it is freed."""
        storage = tensor.untyped_storage()
        if storage in self._held:
            return
        part = part or _place()
        size = storage.nbytes() if tensor.is_meta else tensor.numel() * tensor.element_size()
        self._held[storage] = size
        self._add(size, part, tensor.is_meta)
        if part != WEIGHTS:
            released = weakref.finalize(storage, self._add, -size, part, tensor.is_meta)
            released.atexit = False  # type: ignore[misc]

    def _add(self, size: int, part: str, here: bool) -> None:
        if not here:
            self._host += size
            self.cost.host = max(self.cost.host, self._host)
            return
        self._sum += size
        self._now[part] += size
        self._at_peak()

    def _at_peak(self, working: int = 0, part: str = "") -> None:
        if self._sum + working > self.cost.peak:
            self.cost.peak = self._sum + working
            self.cost.parts = {name: size for name, size in self._now.items() if size}
            if working:
                self.cost.parts[part] = self.cost.parts.get(part, 0) + working

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunction():  # or each `x.dtype` here goes through `_Making`
            return self._carried_out(func, args, kwargs or {})

    def _carried_out(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        tensors: list[Tensor] = []
        _collect((args, kwargs.values()), tensors)
        asked = kwargs.get("device")
        if func is _READ:
            return self._read(args[0])
        if any(x.is_meta for x in tensors) or (asked is not None and asked.type == "meta"):
            return self._on_device(func, args, kwargs, tensors)
        return self._on_host(func, args, kwargs, tensors)

    def _read(self, tensor: Tensor) -> Any:
        if tensor.is_meta:
            self._copied("to host", tensor)
        return self._on_cpu(tensor).item()

    def _copied(self, where: str, tensor: Tensor) -> None:
        self.cost.copies[where] += 1
        self.cost.copied[where] += tensor.numel() * tensor.element_size()

    def _on_host(self, func: Any, args: Any, kwargs: Any, tensors: list[Tensor]) -> Any:
        """Run on the CPU's numbers; on shapes alone, if a large tensor has none."""
        large = any(map(_is_repeated, tensors)) if tensors else _is_large(args)
        if not large or _is_view(func):
            return self._held_here(func(*args, **kwargs))
        options = _options(kwargs)
        if not tensors or "device" in options:
            options["device"] = DEVICE
        return _mapped(func(*_mapped(args, _as_meta), **options), self._assumed)

    def _held_here(self, found: Any) -> Any:
        """Count the memory of a large tensor of the host."""
        if isinstance(found, Tensor) and found.numel() > SMALL:
            self.hold(found)
        return found

    def _on_device(self, func: Any, args: Any, kwargs: Any, tensors: list[Tensor]) -> Any:
        name, asked = _name(func), kwargs.get("device")
        if func is _CONVERT and asked is not None and asked.type == "cpu":
            self._copied("to host", args[0])
            found = self._on_cpu(args[0])
            return self._held_here(found.to(kwargs.get("dtype") or found.dtype))
        if func is _COPY and not args[0].is_meta:
            self._copied("to host", args[1])
            return args[0].copy_(self._on_cpu(args[1]))
        if func in (_CONVERT, _COPY) and not tensors[-1].is_meta:
            self._copied("to device", tensors[-1])
        if name in _INDEXING:
            args = (args[0], self._indices(args[1]), *args[2:])
            tensors = []
            _collect((args, kwargs.values()), tensors)
        numbers = self._on_numbers(func, args, kwargs, tensors)
        if name in _SHAPED:
            out = _mapped(numbers, _as_meta)
        else:
            out = func(*_mapped(args, _as_meta), **_options(kwargs))
        results: list[Tensor] = []
        _collect((out,), results)
        self._keep(func, args, results, numbers)
        self._count(func, args, kwargs, out, results, tensors)
        return out

    def _on_numbers(self, func: Any, args: Any, kwargs: Any, tensors: list[Tensor]) -> Any:
        """The result on numbers; None if a number is not known, or they are many."""
        shaped = _name(func) in _SHAPED
        of: dict[int, Tensor] = {}
        for tensor in tensors:
            found = self._on_cpu(tensor, first=True) if shaped else self._known(tensor)
            if found is None:
                return None
            of[id(tensor)] = found
        if _name(func) in _MAKING and _is_large(args[bool(tensors) :]):
            return None
        options = {n: _mapped(value, lambda x: of[id(x)]) for n, value in kwargs.items()}
        if "device" in options:
            options["device"] = CPU
        return func(*_mapped(args, lambda x: of[id(x)]), **options)

    def _keep(self, func: Any, args: Any, results: list[Tensor], numbers: Any) -> None:
        """Hold the memory of the results, with their numbers or what is assumed of them."""
        if func._schema.is_mutable:
            if numbers is None:
                written: list[Tensor] = []
                _collect(args[:1], written)
                for tensor in (*written, *results):
                    self._numbers.pop(tensor.untyped_storage(), None)
            return
        given: list[Any] = []
        _collect((numbers,), given)
        if _name(func) == "aten::_linalg_eigh":
            spread = torch.logspace(-6, 2, results[0].shape[-1], dtype=results[0].dtype)
            given = [spread, None]
        given = given or [None] * len(results)
        for result, number in zip(results, given, strict=True):
            storage = result.untyped_storage()
            if storage in self._held:
                continue  # a view
            self.hold(result)
            if number is None and result.dtype == torch.bool and result.numel() <= ROWS:
                number = torch.full((), _name(func) not in ("aten::isnan", "aten::isinf"))
            if number is None and _name(func) == "aten::argmax" and result.numel() <= ROWS:
                number = torch.tensor(args[0].shape[-1] // 2)
            if number is None or result.numel() > SMALL:
                continue
            size = storage.nbytes() // result.element_size()
            place = torch.empty(size, dtype=result.dtype)
            place.as_strided(result.shape, result.stride(), result.storage_offset()).copy_(number)
            self._numbers[storage] = place

    def _known(self, tensor: Tensor) -> Tensor | None:
        """The numbers of a tensor, in memory of their own or the tensor's; None: unknown."""
        if not tensor.is_meta:
            return None if tensor.numel() > SMALL else tensor
        found = self._numbers.get(tensor.untyped_storage())
        if found is None or found.dtype != tensor.dtype:
            return None
        return found.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

    def _on_cpu(self, tensor: Tensor, *, first: bool = False) -> Tensor:
        """The numbers of a tensor, else those that are assumed.

        Args:
            first: of a choice, the first element alone is chosen.
        """
        found = self._known(tensor)
        if found is not None:
            return found.clone() if tensor.is_meta else found
        if first and tensor.dtype == torch.bool:
            chosen = torch.zeros(tensor.shape, dtype=torch.bool)
            chosen.view(-1)[:1] = True
            return chosen
        return self._assumed(tensor)

    def _assumed(self, tensor: Tensor) -> Tensor:
        whole = not (tensor.is_floating_point() or tensor.dtype == torch.bool)
        if tensor.numel() > LARGE:
            return self._held_here(torch.ones((), dtype=tensor.dtype).expand(tensor.shape))
        found = torch.full(tensor.shape, 0 if whole else 1, dtype=tensor.dtype)
        if tensor.is_floating_point() and tensor.dim():
            # Not all alike, so that the largest is not always the first.
            found += 1e-3 * torch.rand(tensor.shape, generator=self._random).to(tensor.dtype)
        return found

    def _indices(self, indices: Any) -> list[Any]:
        """Masks as numbers of the places that they choose."""
        found: list[Any] = []
        for index in indices:
            if index is not None and index.dtype in (torch.bool, torch.uint8):
                found += self._on_cpu(index, first=True).nonzero(as_tuple=True)
            else:
                found.append(index)
        return found

    def _count(
        self,
        func: Any,
        args: Any,
        kwargs: Any,
        out: Any,
        results: list[Tensor],
        tensors: list[Tensor],
    ) -> None:
        name = _name(func)
        read = {x.untyped_storage() for x in tensors if x.is_meta}
        mutates = func._schema.is_mutable
        if not mutates and all(x.untyped_storage() in read for x in results):
            return  # views
        kind = _type(next((x for x in tensors if x.is_meta), results[0] if results else None))
        flops = 0.0
        if _formula(func):
            flops = float(_formula(func)(*args, **kwargs, out_val=out))
        elif name in _ALGEBRA:
            kind, count = _ALGEBRA[name]
            flops = count(args)
        if name == "aten::_linalg_eigh":  # LAPACK's syevd works in twice the matrix
            self._at_peak(2 * args[0].numel() * args[0].element_size(), _place())
        size = sum(map(_bytes, results)) * (2 if name in _TAKING else 1)
        if name not in _TAKING and not name.startswith("aten::index_put"):
            size += sum(map(_bytes, tensors))
        self.cost.kernels[Kernel(kind, flops, size)] += 1


def _bytes(tensor: Tensor) -> int:
    if tensor.is_meta:
        return min(tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes())
    return tensor.numel() * tensor.element_size()


def _type(tensor: Tensor | None) -> str:
    return "" if tensor is None else str(tensor.dtype).removeprefix("torch.")


def _is_repeated(tensor: Tensor) -> bool:
    """Return True of a large tensor of the host without numbers."""
    return tensor.numel() > LARGE and tensor.untyped_storage().nbytes() < tensor.numel()


def _is_large(args: Any) -> bool:
    """Return True if an operation makes a large tensor of the shape that it is given."""
    shape = args[0] if args and isinstance(args[0], (list, tuple)) else ()
    return math.prod(shape) > LARGE


def _collect(values: Any, found: list[Any]) -> None:
    """Add the tensors of nested arguments to a list."""
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple, ValuesView)):
            _collect(value, found)


def _mapped(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """Nested arguments with their tensors changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return [_mapped(each, change) for each in value]
    return value


def _options(kwargs: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments for shapes, which need neither random numbers nor pinned memory."""
    without = dict.fromkeys({"generator", "pin_memory"} & kwargs.keys())
    return {name: _mapped(value, _as_meta) for name, value in kwargs.items()} | without


def _as_meta(tensor: Tensor) -> Tensor:
    if tensor.is_meta:
        return tensor
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=DEVICE)


@cache
def _name(func: Any) -> str:
    return func._schema.name


@cache
def _formula(func: Any) -> Any:
    """Return torch's count of a product's operations; None for another operation."""
    name = _name(func).removeprefix("aten::").removesuffix("_")
    return flop_registry.get(getattr(aten, name, None))


@cache
def _is_view(func: Any) -> bool:
    returns = func._schema.returns
    info = returns[0].alias_info if returns else None
    return info is not None and not info.is_write


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
    if _FOLDER not in path.parents:
        return ""
    return path.relative_to(_FOLDER).with_suffix("").as_posix()


STEPS = ("num_steps", "v_num_grad_steps")
"""Hyperparameters that are a number of equal steps: of more than three, the rest is multiplied."""


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
    values = method.reference(hparams)[1] if hasattr(method, "reference") else hparams
    name = next((name for name in STEPS if getattr(values, name, 0) > 3), None)
    if name is None:
        return _edit(method, model, tokenizer, request, hparams, retain)
    short, longer = (
        _edit(method, model, tokenizer, request, _with_steps(hparams, name, n), retain)
        for n in (2, 3)
    )
    return longer.extended(short, getattr(values, name) - 3)


def _with_steps(hparams: Any, name: str, n: int) -> Any:
    """Hyperparameters with another number of steps; of a control, its reference's."""
    if hasattr(hparams, name):
        return replace(hparams, **{name: n})
    return replace(hparams, hparams={**hparams.hparams, name: n})


def _edit(
    method: Any, model: nn.Module, tokenizer: Any, request: RewriteRequest, hparams: Any,
    retain: Sequence[tuple[str, str]],
) -> Cost:  # fmt: skip
    adapter = adapter_for(model)
    needs = getattr(method, "NEEDS_RETAIN", False)
    state: dict[str, Any] = {"retain": list(retain)} if needs else {}
    with on_shapes(model) as cost:
        moments, numbers = {}, torch.Generator().manual_seed(0)
        for layer in registry.covariance_layers(method, hparams):
            width = n_slots(adapter, layer)
            moments[adapter.mlp_out(layer).name] = torch.rand(width, width, generator=numbers)
        if getattr(method, "NEEDS_HYPERNETWORK", False):
            state["hypernetwork"] = untrained(model, hparams)
        method.execute(model, tokenizer, [request], hparams, moments or None, state=state or None)
    return cost


def forward(model: nn.Module, rows: int, length: int, read: int) -> Cost:
    """Return the cost of a forward pass of rows of tokens, without a cache.

    Args:
        read: last positions of each row whose logits are computed.
    """
    adapter = adapter_for(model)
    head = adapter.lm_head
    with on_shapes(model) as cost, torch.no_grad():
        ids = torch.zeros(rows, length, dtype=torch.long, device=DEVICE)
        with nethook.recording(inputs={"end": head}, stop_before=head) as seen:
            nethook.forward(model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
        adapter.logits(seen.inputs["end"][:, -read:]).float().log_softmax(-1)
    return cost


def characters(number: int, vocabulary: int) -> Any:
    """Return a tokenizer with a token for every `number` characters."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {f"word{i}": i for i in range(min(vocabulary, 1000))}
    made = Tokenizer(models.WordLevel(words, unk_token="word0"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex(rf"[\s\S]{{1,{number}}}"), "isolated")
    made.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="word1")
