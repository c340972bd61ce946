"""Saved edits: files with updates and provenance, applied in order and reverted bit-identically.

A file is safetensors. For each edited parameter NAME it contains `delta:NAME`, or for a low-rank
update `left:NAME` and `right:NAME` (and `at:NAME`, `is:NAME`, see `editing.deltas.low_rank`); for
each request ID the optimised vector `target:ID`. The metadata entry `thinkeval_delta` is JSON: the
fields of `DeltaMeta`, the digest of every update, steps, context templates and prompt change;
`thinkeval_digest` is one digest over that text and all tensors. The
state for continuing a sequence is not saved.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from ...loaders.errors import LoaderError
from ...loaders.reading.sources import require_no_pipe
from ...loaders.records import digest
from ..atomic_write import whole_file
from ..errors import DeltaError
from . import EditEffect, applied, low_rank, unedited_digest
from .prompt_change import from_plain, to_plain
from .records import DeltaMeta, SavedDelta

__all__ = ["DeltaMeta", "SavedDelta", "apply_in_order", "check_fits", "copy", "load", "save"]

KEY, WHOLE = "thinkeval_delta", "thinkeval_digest"
FORMAT = 2
PARTS = ("delta", "left", "right", "at", "is")
_MALFORMED = (
    KeyError, TypeError, ValueError, RuntimeError, IndexError, AttributeError, ArithmeticError
)  # fmt: skip
"""Errors of reading entries that are not those of `save`; RecursionError is a RuntimeError."""


def save(
    effect: EditEffect, path: str | Path, meta: DeltaMeta, *, limit_bytes: int | None = None
) -> str:
    """Write an edit to one file, atomically; returns its digest.

    Args:
        limit_bytes: maximum size of the tensors.

    Raises:
        DeltaError: an update has NaN or infinity, the prompt change is not plain data, the file
            would exceed the limit, or it cannot be written.
    """
    prompt = None if effect.prompt_change is None else to_plain(effect.prompt_change)
    tensors: dict[str, Tensor] = {}
    digests: dict[str, str] = {}
    for name, delta in effect.deltas.items():
        if not torch.isfinite(delta).all():
            raise DeltaError(f"the update of '{name}' holds NaN or infinity and is not saved")
        parts = low_rank.pack(delta, effect.factors.get(name))
        tensors |= {f"{part}:{name}": tensor for part, tensor in parts.items()}
        digests[name] = tensor_digest(delta)
    for request, vector in effect.targets.items():
        tensors[f"target:{request}"] = vector.detach().cpu().contiguous()
    if limit_bytes is not None and low_rank.size(tensors) > limit_bytes:
        raise DeltaError(
            f"the edit takes {low_rank.size(tensors) / 1e6:.0f} MB, more than the limit of "
            f"{limit_bytes / 1e6:.0f} MB",
            remedy="Raise THINKEVAL_DELTA_LIMIT_MB and score it again with --force.",
        )
    about = asdict(meta) | {
        "format": FORMAT,
        "hparams_digest": digest(meta.hparams),
        "templates": effect.templates,
        "templates_digest": digest(effect.templates),
        "n_steps": effect.n_steps,
        "residual_left": effect.residual_left,
        "prompt_change": prompt,
        "deltas": digests,
        "digest": _digest(digests, prompt),
    }
    text = json.dumps(about)
    with _writing(path) as out:
        safetensors.torch.save_file(
            tensors, str(out), {KEY: text, WHOLE: _whole_digest(text, tensors)}
        )
    return str(about["digest"])


def copy(path: str | Path, to: str | Path) -> None:
    """Copy the file of a saved edit, atomically; raises `DeltaError` on failure."""
    with _writing(to) as out:
        shutil.copyfile(path, out)


def load(path: str | Path) -> SavedDelta:
    """Read a file of `save`; header, tensors and every update are verified against their digests.

    Raises:
        DeltaError: the file is missing, truncated, modified, or not a saved edit of ThinkEval.
    """
    tensors, about = _read(path)
    try:
        effect, stored = _effect(tensors, about), tuple(k for k in tensors if k.startswith("left:"))
        wanted = {name: str(value) for name, value in about["deltas"].items()}
        names = set(DeltaMeta.__dataclass_fields__)
        known = {key: value for key, value in about.items() if key in names}
        known |= {"requests": tuple(known["requests"]), "after": tuple(known["after"])}
        meta, total = DeltaMeta(**known), str(about["digest"])
    except _MALFORMED as error:
        raise _unreadable(path, error) from error
    found = {name: tensor_digest(delta) for name, delta in effect.deltas.items()}
    if found != wanted or _digest(found, about["prompt_change"]) != total:
        raise DeltaError(f"{path} does not match the digests of its updates: it was changed")
    low_rank_names = tuple(key.partition(":")[2] for key in stored)
    return SavedDelta(effect, meta, total, low_rank_names)


@contextlib.contextmanager
def apply_in_order(
    model: nn.Module, deltas: Sequence[SavedDelta | str | Path], inputs: str = ""
) -> Iterator[nn.Module]:
    """Apply saved edits to the model, in order; reverted bit-identically on exit.

    Args:
        inputs: as in `check_fits`.

    Raises:
        DeltaError: an edit was computed for another model or on top of other edits, or changes
            prompts; or a file cannot be read. The model is then unchanged.
    """
    saved = [item if isinstance(item, SavedDelta) else load(item) for item in deltas]
    check_fits(saved, unedited_digest(model), inputs)
    with contextlib.ExitStack() as stack:
        for item in saved:
            stack.enter_context(applied(model, item.effect))
        yield model


def check_fits(saved: Sequence[SavedDelta], weights_digest: str, inputs: str = "") -> None:
    """Raise `DeltaError` unless the edits, in this order, belong to the model of that digest.

    Args:
        inputs: digest of the model's configuration and tokenizer; not compared where it or that of
            the edit is empty.
    """
    for i, item in enumerate(saved):
        name = item.meta.edit or f"{item.meta.method} edit {item.digest[:12]}"
        if item.meta.weights_digest != weights_digest:
            raise DeltaError(
                f"{name} was made for another model ({item.meta.model or 'unnamed'}, weights "
                f"{item.meta.weights_digest[:12]}), not for this one ({weights_digest[:12]})",
                remedy="Load the model it was made for, in the same --dtype; or compute the edit "
                "again for this one.",
            )
        if inputs and item.meta.inputs not in ("", inputs):
            raise DeltaError(
                f"{name} was made on the same weights with another configuration or tokenizer",
                remedy="Load the model with the configuration and tokenizer it was made with; or "
                "compute the edit again for this one.",
            )
        before = tuple(other.digest for other in saved[:i])
        if item.meta.after and item.meta.after != before:
            raise DeltaError(
                f"{name} was made on top of {len(item.meta.after)} other edits, which do not "
                "precede it here",
                remedy="Pass the edits of the sequence in their original order.",
            )
        if item.effect.prompt_change is not None:
            raise DeltaError(
                f"{name} changes the prompt, so it cannot be applied to a model's weights",
                remedy="Pass its `effect.prompt_change` to the probe; export it with --as delta.",
            )


def tensor_digest(tensor: Tensor) -> str:
    """SHA-256 (hex) over type, shape and bytes."""
    value = tensor.detach().cpu().contiguous()
    out = hashlib.sha256(f"{value.dtype}|{tuple(value.shape)}|".encode())
    out.update(value.view(-1).view(torch.uint8).numpy().data)
    return out.hexdigest()


@contextlib.contextmanager
def _writing(path: str | Path) -> Iterator[Path]:
    try:
        with whole_file(path) as out:
            yield out
    except (OSError, safetensors.SafetensorError) as error:
        raise DeltaError(
            f"{path} could not be written ({error})",
            remedy="Name a writable folder with space for the file.",
        ) from error


def _digest(deltas: Mapping[str, str], prompt: Any) -> str:
    return digest([sorted(deltas.items()), prompt], 64)


def _whole_digest(text: str, tensors: Mapping[str, Tensor]) -> str:
    """The digest over a file's JSON entry and every tensor with its name."""
    return digest([text, sorted((name, tensor_digest(each)) for name, each in tensors.items())], 64)


def _read(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        require_no_pipe(Path(path))
        with safetensors.safe_open(str(path), framework="pt") as opened:
            metadata = opened.metadata() or {}
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        about = json.loads(metadata[KEY])
        version = about.get("format")
    except (OSError, LoaderError, safetensors.SafetensorError, *_MALFORMED) as error:
        raise _unreadable(path, error) from error
    if version != FORMAT:
        raise DeltaError(
            f"{path} has the format {version}, this version reads {FORMAT}",
            remedy="Install the version of ThinkEval that wrote it.",
        )
    if metadata.get(WHOLE) != _whole_digest(metadata[KEY], tensors):
        raise DeltaError(
            f"{path} does not match the digest of its header and tensors: it was changed"
        )
    return tensors, about


def _effect(tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> EditEffect:
    deltas: dict[str, Tensor] = {}
    factors: dict[str, tuple[Tensor, Tensor]] = {}
    for name in about["deltas"]:
        keys = {part: f"{part}:{name}" for part in PARTS}
        delta, pair = low_rank.unpack({p: tensors[k] for p, k in keys.items() if k in tensors})
        deltas[name] = delta
        if pair is not None:
            factors[name] = pair
    prefix = "target:"
    return EditEffect(
        deltas=deltas,
        targets={k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)},
        n_steps={str(k): int(v) for k, v in about["n_steps"].items()},
        templates=tuple(tuple(group) for group in about["templates"]),
        prompt_change=None
        if about["prompt_change"] is None
        else from_plain(about["prompt_change"]),
        factors=factors,
        residual_left=dict(about.get("residual_left", {})),
    )


def _unreadable(path: str | Path, error: Exception) -> DeltaError:
    return DeltaError(f"{path} is not a readable file of a saved edit ({error})")
