"""Identity of a model: a digest of everything that decides its answers, not of its weights alone.

Two folders with equal weights answer differently where a field of config.json, the tokenizer, the
chat template or the tokens that end an answer differ. Each of these is one part of the identity:

    config      fields of the configuration that are not the default of its class
    buffers     tensors besides the parameters, such as the frequencies of rotary positions
    tokenizer   vocabulary, merges, normaliser, added tokens, tokens put around a text
    template    of chats
    stops       ids of tokens that end a sampled answer
    matmuls     only where matrices are not multiplied in the type of the weights

Only fields that change no forward pass are left out (`BOOKKEEPING`); a field that is
not known here counts. A padding token counts nowhere: padding is always masked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..loaders.records import digest

BOOKKEEPING = frozenset(
    (
        "transformers_version", "architectures", "dtype", "torch_dtype", "use_cache",
        "return_dict", "output_attentions", "output_hidden_states", "torchscript",
        "initializer_range", "id2label", "label2id", "problem_type", "chunk_size_feed_forward",
        "is_encoder_decoder", "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id",
        "tokenizer_class", "task_specific_params", "auto_map", "transformers.js_config",
        "_name_or_path", "_commit_hash", "_attn_implementation", "_attn_implementation_internal",
        "_experts_implementation", "_experts_implementation_internal", "_auto_class",
    )
)  # fmt: skip
"""Fields of a configuration that do not change the computation. The number type is part of the
digest of the weights; the tokens that begin and end a text are parts of their own."""

_MARKS = ("bos_token", "eos_token", "unk_token", "clean_up_tokenization_spaces", "add_bos_token",
          "add_eos_token", "split_special_tokens")  # fmt: skip
_TEXTS = (
    "The mother of Harry Potter is",
    " don't\tstop: 1,984  naïve CAFÉ\n",
    "中国的首都是北京。 مرحبا",
)  # fmt: skip
"""Texts whose ids represent a tokenizer that cannot be written as JSON."""


MATMULS = "matmuls"
"""Part of a model whose matrices are multiplied in another type than that of its weights."""


def parts(model: Any, tokenizer: Any) -> dict[str, str]:
    """Return the digest of each part of a model's identity but its weights."""
    return {
        "config": digest(config_fields(model)),
        "buffers": _digest_of_buffers(model),
        "tokenizer": _digest_of_tokenizer(tokenizer),
        "template": digest(getattr(tokenizer, "chat_template", None)),
        "stops": digest(sorted(stop_ids(model, tokenizer))),
    }


def inputs_digest(found: Mapping[str, str]) -> str:
    """Return a digest of the parts that decide a model's activations on a text."""
    names = ("config", "buffers", "tokenizer", *([MATMULS] if MATMULS in found else []))
    return digest([found[name] for name in names])


def identity(weights: str, found: Mapping[str, str]) -> str:
    """Return the digest (SHA-256, hex) of a model with these weights and parts."""
    return digest([weights, dict(found)], 64)


def stop_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Return the ids of tokens that end a sampled answer: those of the model and the tokenizer."""
    named = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    ids = named if isinstance(named, list | tuple) else [named]
    return frozenset(i for i in [*ids, tokenizer.eos_token_id] if i is not None)


def config_fields(model: Any, *, defaults: bool = False) -> dict[str, Any]:
    """Return the fields of a model's configuration that decide its computation.

    A field with the default of its class is left out, so that a later release of transformers that
    adds a field does not make another model of it.

    Args:
        defaults: list those fields too.
    """
    config: Any = getattr(model, "config", None)
    if not hasattr(config, "to_dict"):
        return {"class": type(model).__name__}
    try:
        default = _plain(type(config)().to_dict())
    except Exception:
        default = {}  # A class whose configuration has no defaults.
    fields = {
        name: value
        for name, value in _plain(config.to_dict()).items()
        if defaults or name not in default or default[name] != value
    }
    return {"class": type(model).__name__, "model_type": config.model_type, **fields}


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return {field: (value, other value)} of the fields in which two configurations differ.

    A field inside another one is named with a dot: `rope_parameters.rope_theta`.
    """
    found: dict[str, tuple[Any, Any]] = {}
    for name in sorted(one.keys() | other.keys()):
        a, b = one.get(name), other.get(name)
        if isinstance(a, dict) and isinstance(b, dict):
            found |= {f"{name}.{key}": pair for key, pair in differing(a, b).items()}
        elif a != b:
            found[name] = (a, b)
    return found


def _plain(value: Any) -> Any:
    """Return a configuration's value as JSON has it, without bookkeeping."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items() if name not in BOOKKEEPING}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def _digest_of_buffers(model: nn.Module) -> str:
    """Return a digest of all tensors of a model besides its parameters.

    Buffers that no file holds are computed from the configuration, on the device: their numbers are
    rounded to four digits, because the last bits are those of the device.
    """
    stored = model.state_dict(keep_vars=True).keys()
    found = sorted(model.named_buffers(), key=lambda pair: pair[0])
    return digest([[name, _digest_of(value, name in stored)] for name, value in found])


def _digest_of(value: Tensor, exact: bool) -> str:
    values = value.detach().to("cpu").contiguous()
    head = f"{values.dtype}|{tuple(values.shape)}|"
    if not exact and values.is_floating_point():
        text = " ".join(f"{number:.3e}" for number in values.double().flatten().tolist())
        return digest([head, text])
    out = hashlib.sha256(head.encode())
    out.update(values.view(-1).view(torch.uint8).numpy().data)
    return out.hexdigest()


def _digest_of_tokenizer(tokenizer: Any) -> str:
    marks = {name: repr(getattr(tokenizer, name, None)) for name in _MARKS}
    return digest([_written(tokenizer), marks])


def _written(tokenizer: Any) -> Any:
    """Return a tokenizer's full configuration, or its vocabulary and its ids of some texts."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        ids = [tokenizer(text)["input_ids"] for text in _TEXTS]
        return [type(tokenizer).__name__, sorted(tokenizer.get_vocab().items()), ids]
    written = json.loads(backend.to_str())
    # Settings of the last call, not properties of the tokenizer.
    return {key: value for key, value in written.items() if key not in ("padding", "truncation")}
