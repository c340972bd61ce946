"""Digests of a model's parameters, kept until a parameter changes.

Hashing 8 billion float32 weights takes half a minute, and every edit compares the digest of its
model with that of its covariance. torch counts the writes to a tensor (`_version`), so the digest
of a parameter is kept beside this number and its memory, and computed again only if one of them is
another. Writes that torch does not count are not seen: through `parameter.data` in place, through
a numpy view, or by another library.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils.weak import WeakTensorKeyDictionary

_LOCK = threading.Lock()
_KEPT: Any = WeakTensorKeyDictionary()
"""{parameter: `_Kept`}; an entry ends with its parameter."""


@dataclass(slots=True)
class _Kept:
    """Digests of one parameter by name, valid for one state of its memory."""

    state: tuple[Any, ...]
    # A weak reference, so that no other storage can get the address in `state`.
    storage: StorageWeakRef
    digests: dict[str, bytes] = field(default_factory=dict)


def digests(named: Sequence[tuple[str, Tensor]]) -> list[bytes]:
    """SHA-256 over name, type, shape and bytes (none on the meta device) of each parameter.

    Parameters are hashed concurrently (hashing releases the GIL). The digest depends on the dtype,
    not on the device.
    """
    with _LOCK:
        found = [_known(name, parameter) for name, parameter in named]
    absent = [i for i, digest in enumerate(found) if digest is None]
    states = {i: _state(named[i][1]) for i in absent}
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        fresh = list(pool.map(lambda i: _digest(*named[i]), absent))
    with _LOCK:
        for i, digest in zip(absent, fresh, strict=True):
            found[i] = digest
            _keep(*named[i], states[i], digest)
    return [digest for digest in found if digest is not None]


def _state(parameter: Tensor) -> tuple[Any, ...] | None:
    """Memory and write count of a parameter; None if torch does not count its writes."""
    if parameter.is_inference() or parameter.layout != torch.strided:
        return None
    return (
        StorageWeakRef(parameter.untyped_storage()).cdata,
        parameter.data_ptr(),
        parameter._version,
        parameter.dtype,
        tuple(parameter.shape),
        parameter.stride(),
    )


def _known(name: str, parameter: Tensor) -> bytes | None:
    kept = _KEPT.get(parameter)
    return kept.digests.get(name) if kept and kept.state == _state(parameter) else None


def _keep(name: str, parameter: Tensor, state: tuple[Any, ...] | None, digest: bytes) -> None:
    if state is None:
        return
    kept = _KEPT.get(parameter)
    if kept is None or kept.state != state:
        _KEPT[parameter] = kept = _Kept(state, StorageWeakRef(parameter.untyped_storage()))
    kept.digests[name] = digest


def _digest(name: str, parameter: Tensor) -> bytes:
    head = f"{name}|{parameter.dtype}|{tuple(parameter.shape)}|".encode()
    digest = hashlib.sha256(head)
    if parameter.is_meta:
        return digest.digest()
    value = parameter.detach().to("cpu").contiguous()
    digest.update(value.view(-1).view(torch.uint8).numpy().data)
    return digest.digest()
