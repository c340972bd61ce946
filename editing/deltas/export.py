"""Export of an edited model as a transformers folder: config, weights, tokenizer.

`thinkeval_edits.json` in the folder records the applied edits and the weights they belong to.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import safetensors
from transformers.utils import logging as transformers_logging

from ..errors import DeltaError
from ..models import LoadedModel, load, weights_digest
from .files import SavedDelta, apply_in_order

ABOUT = "thinkeval_edits.json"


def export_model(
    loaded: LoadedModel, deltas: Sequence[SavedDelta], folder: str | Path, *, check: bool = True
) -> str:
    """Write the model with edits applied to a new folder; returns the edited weights' digest.

    The folder is written atomically; the model in memory is reverted. A tokenizer without a pad
    token is exported with the one that ThinkEval uses for padding.

    Args:
        deltas: applied in this order.
        check: read the folder back and verify that the weights are bit-identical; needs memory for
            a second copy.

    Raises:
        DeltaError: the folder exists and is not empty, cannot be written, or differs when read
            back; or an edit does not belong to this model.
    """
    target = Path(folder).absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DeltaError(f"{target} exists and is not empty", remedy="Name a new folder with -o.")
    partial = target.with_name(f".{target.name}.partial")
    try:
        with _quiet():
            shutil.rmtree(partial, ignore_errors=True)
            digest = _write(loaded, deltas, partial)
            if check:
                first = next(loaded.model.parameters())
                _check(partial, str(first.dtype).removeprefix("torch."), digest)
            if target.exists():
                target.rmdir()
            os.replace(partial, target)
    except (OSError, safetensors.SafetensorError) as error:
        raise DeltaError(
            f"{target} could not be written ({error})",
            remedy="Name a writable folder with space for the complete model.",
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return digest


def _write(loaded: LoadedModel, deltas: Sequence[SavedDelta], folder: Path) -> str:
    with apply_in_order(loaded.model, deltas, loaded.info.inputs):
        digest = weights_digest(loaded.model)
        folder.mkdir(parents=True)
        loaded.model.save_pretrained(folder)
        loaded.tokenizer.save_pretrained(folder)
    about = {
        "model": loaded.info.name,
        "unedited_weights_digest": loaded.info.weights_digest,
        "weights_digest": digest,
        "edits": [{"digest": delta.digest, **asdict(delta.meta)} for delta in deltas],
    }
    text = json.dumps(about, indent=1, ensure_ascii=False, default=str)
    (folder / ABOUT).write_text(text, encoding="utf-8")
    return digest


def _check(folder: Path, dtype: str, digest: str) -> None:
    found = load(folder, dtype=dtype, device="cpu").info.weights_digest
    if found != digest:
        raise DeltaError(
            f"the exported model has different weights when read ({found[:12]}, not {digest[:12]})",
            remedy="Check the disk; if it has no errors, report a bug.",
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress transformers' progress bars."""
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()
