"""An edited model as an ordinary folder of transformers: config, weights, tokenizer.

Beside them `thinkeval_edits.json` says which edits the weights carry and for which weights those
were made.
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

from thinkeval.editing.deltas.files import SavedDelta, apply_in_order
from thinkeval.editing.errors import DeltaError
from thinkeval.editing.models import LoadedModel, load, weights_digest

ABOUT = "thinkeval_edits.json"


def export_model(
    loaded: LoadedModel, deltas: Sequence[SavedDelta], folder: str | Path, *, check: bool = True
) -> str:
    """Write the model with the edits on to a new folder; returns the edited weights' digest.

    The folder appears whole or not at all; the model in memory is unedited again afterwards. A
    tokenizer without pad token gets the one that ThinkEval pads with.

    Args:
        deltas: put on in this order.
        check: read the folder back and compare the weights to the bit; needs the memory for a
            second copy.

    Raises:
        DeltaError: the folder is there and not empty or cannot be written, an edit does not belong
            on this model, or the weights read back are others.
    """
    target = Path(folder).absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DeltaError(
            f"{target} is there already and not empty", remedy="Name a new folder with -o."
        )
    partial = target.with_name(f".{target.name}.partial")
    try:
        with _quiet():
            shutil.rmtree(partial, ignore_errors=True)
            digest = _write(loaded, deltas, partial)
            if check:
                _check(partial, loaded.info.dtype, digest)
            if target.exists():
                target.rmdir()
            os.replace(partial, target)
    except (OSError, safetensors.SafetensorError) as error:
        raise DeltaError(
            f"{target} could not be written ({error})",
            remedy="Give a folder that is yours to write, with room for the whole model.",
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return digest


def _write(loaded: LoadedModel, deltas: Sequence[SavedDelta], folder: Path) -> str:
    with apply_in_order(loaded.model, deltas):
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
            f"the exported model reads back with other weights ({found[:12]}, not {digest[:12]})",
            remedy="Check the disk; report it if the disk is sound.",
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' own progress bars."""
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()
