"""PEFT adapters: read from a folder, put on a loaded base, taken off bit-identically.

Every kind of adapter that changes modules is taken (LoRA, DoRA, IA3, LoHa, OFT ...). One that
changes the prompt instead (prompt or prefix tuning), or needs arguments of its own for a forward
pass, is refused. An adapter fits a base if peft, given the base and the adapter's configuration,
makes tensors of the very names and shapes of the file; the name of the base that the configuration
gives is a hint only, and is compared in the record.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...loaders.records import digest
from ..deltas.files import tensor_digest
from ..errors import PeftAdapterError
from ..evaluation_mode import evaluating
from ..models import PICKLED, UNPICKLED, LoadedModel
from .extras import package
from .restored import restored

CONFIGURATION = "adapter_config.json"
WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
HINTS = ("base_model_name_or_path", "revision", "inference_mode", "peft_version", "auto_mapping")
"""Keys of a configuration that change no number; they are not part of the digest."""
PREFIX = "base_model.model."
MERGED = {torch.float64: 1e-9, torch.float32: 1e-3, torch.bfloat16: 0.1, torch.float16: 0.05}
"""Largest difference of logits by rounding, relative to the largest one, once it is merged."""
SHOWN = 3
"""Names in an error, at most."""


@dataclass(frozen=True, slots=True)
class SavedAdapter:
    """An adapter read from its folder.

    Attributes:
        kind: as peft names it: `LORA`, `IA3` ...
        configuration: as stored.
        tensors: {name without peft's prefix: tensor on the CPU}.
        digest: SHA-256 (hex) over tensors and configuration.
    """

    folder: Path
    kind: str
    configuration: Mapping[str, Any]
    tensors: Mapping[str, Tensor]
    digest: str

    @property
    def made_for(self) -> str | None:
        """Name of the base that its configuration gives, if any."""
        name = self.configuration.get("base_model_name_or_path")
        return str(name) if name else None

    def about(self, base: str) -> dict[str, Any]:
        """Return a record's fields of the adapter, with a warning if it names another base."""
        found: dict[str, Any] = {
            "folder": self.folder.name,
            "kind": self.kind,
            "digest": self.digest,
            "configuration": dict(self.configuration),
        }
        name = self.made_for
        if name and Path(name).name != Path(base).name:
            found["warning"] = f"names {name!r} as its base; its names and shapes fit this one"
        return found


def read(folder: str | Path) -> SavedAdapter:
    """Read a PEFT adapter's configuration and weights.

    Raises:
        PeftAdapterError: no such folder, no configuration or weights in it, unreadable ones, or
            weights with NaN or infinity.
        MissingExtraError: peft is not installed.
    """
    peft = package("peft", "peft", "A PEFT adapter")
    path = Path(folder).expanduser()
    # Looked up here: peft asks the hub for files that a folder does not have.
    if not (path / CONFIGURATION).is_file():
        missing = "has no adapter_config.json" if path.is_dir() else "is not a folder"
        raise PeftAdapterError(f"'{folder}' {missing}, so it is not a PEFT adapter")
    if not any((path / name).is_file() for name in WEIGHTS):
        raise PeftAdapterError(f"the adapter '{folder}' has no weights ({' or '.join(WEIGHTS)})")
    try:
        configuration = json.loads((path / CONFIGURATION).read_text(encoding="utf-8"))
        kind = str(configuration["peft_type"])
        found = peft.utils.load_peft_weights(str(path), device="cpu")
    except Exception as error:
        # OSError, JSONDecodeError, SafetensorError, UnpicklingError, depending on the file.
        if "weights_only" in str(error):
            raise PeftAdapterError(
                f"the adapter '{folder}' cannot be read: {PICKLED}", remedy=UNPICKLED
            ) from error
        raise PeftAdapterError(f"the adapter '{folder}' cannot be read: {_line(error)}") from error
    tensors = {name.removeprefix(PREFIX): value for name, value in sorted(found.items())}
    for name, value in tensors.items():
        if value.is_floating_point() and not torch.isfinite(value).all():
            raise PeftAdapterError(f"'{name}' of the adapter '{folder}' holds NaN or infinity")
    known = {key: value for key, value in configuration.items() if key not in HINTS}
    digests = [(name, tensor_digest(value)) for name, value in tensors.items()]
    return SavedAdapter(path, kind, configuration, tensors, digest([digests, known], 64))


def require_package() -> None:
    """Refuse adapters where peft is absent.

    Raises:
        MissingExtraError: names the extra.
    """
    package("peft", "peft", "A PEFT adapter")


@contextmanager
def adapted(
    loaded: LoadedModel, adapter: SavedAdapter, *, merged: bool = False
) -> Iterator[LoadedModel]:
    """Put an adapter on the model for the duration of a `with` block; restored bit-identically.

    The model object is the same: its modules are wrapped by those of the adapter.

    Args:
        merged: add the adapter to the weights instead, so that they can be quantised.

    Raises:
        PeftAdapterError: it was made for another base, or is of a kind that cannot be put on.
    """
    model = loaded.model
    with restored(model), evaluating(model):
        wrapped = _wrapped(model, adapter)
        model.eval()
        _require_same(model, wrapped, adapter)
        if merged:
            _merge(model, wrapped, adapter)
        yield loaded


def _wrapped(model: Any, adapter: SavedAdapter) -> Any:
    """Wrap the model's modules with the adapter's, and set their weights.

    Raises:
        PeftAdapterError: as `adapted`.
    """
    peft = package("peft", "peft", "A PEFT adapter")
    try:
        # peft warns of values that it corrects by itself (the orientation of a Conv1D, for one).
        with warnings.catch_warnings(action="ignore"):
            wrapped, made = _injected(peft, model, adapter)
    except PeftAdapterError:
        raise
    except Exception as error:
        # ValueError (no such modules), TypeError (unknown key, unsupported module), RuntimeError
        # (shapes), KeyError (unknown kind), depending on the adapter.
        raise _other_base(adapter, _line(error)) from error
    wanted = {name.removeprefix(PREFIX): tuple(value.shape) for name, value in made.items()}
    whole = _compared(model, adapter, wanted)
    peft.set_peft_model_state_dict(
        wrapped, {name: adapter.tensors[name.removeprefix(PREFIX)] for name in made}
    )
    for parameter, name in whole:
        parameter.data = adapter.tensors[name].to(parameter.device, parameter.dtype)
    return wrapped


def _injected(peft: Any, model: Any, adapter: SavedAdapter) -> tuple[Any, dict[str, Tensor]]:
    """The model wrapped by a new adapter of this configuration, and the adapter's tensors.

    Raises:
        PeftAdapterError: the adapter changes the prompt.
    """
    configuration = peft.PeftConfig.from_pretrained(str(adapter.folder))
    configuration.inference_mode = True
    if configuration.is_prompt_learning:
        raise PeftAdapterError(
            f"the adapter '{adapter.folder}' ({adapter.kind}) changes the prompt, not the weights",
            remedy="Use an adapter that changes modules: LoRA, DoRA, IA3 and others.",
        )
    wrapped = peft.PeftModel(model, configuration)
    return wrapped, peft.get_peft_model_state_dict(wrapped, save_embedding_layers=False)


def _compared(
    model: Any, adapter: SavedAdapter, wanted: Mapping[str, tuple[int, ...]]
) -> list[tuple[Any, str]]:
    """Compare names and shapes; return the file's weights of the base itself.

    An adapter that was saved with its embeddings has them as complete weights.

    Raises:
        PeftAdapterError: names the first tensors that differ.
    """
    found = {name: tuple(value.shape) for name, value in adapter.tensors.items()}
    parameters = dict(model.named_parameters(remove_duplicate=False))
    whole = [
        (parameters[name], name)
        for name in found.keys() - wanted.keys()
        if name in parameters and tuple(parameters[name].shape) == found[name]
    ]
    further = sorted(found.keys() - wanted.keys() - {name for _, name in whole})
    absent = sorted(wanted.keys() - found.keys())
    unlike = sorted(name for name in found.keys() & wanted.keys() if found[name] != wanted[name])
    if unlike:
        name = unlike[0]
        raise _other_base(
            adapter, f"'{name}' has shape {found[name]}, this base needs {wanted[name]}"
        )
    if further:
        raise _other_base(adapter, f"this base has no place for {_few(further)}")
    if absent:
        raise _other_base(adapter, f"it has no weights for {_few(absent)}")
    return whole


def _merge(model: Any, wrapped: Any, adapter: SavedAdapter) -> None:
    """Add the adapter to the weights; `safe_merge` computes new ones beside the base's own.

    Raises:
        PeftAdapterError: peft cannot merge it, or the merged weights give other answers (an
            adapter of input embeddings that the head shares, for one).
    """
    remedy = "Leave out the quantisation: it takes the merged weights."
    before = _logits(model)
    try:
        with warnings.catch_warnings(action="ignore"):
            wrapped.merge_and_unload(safe_merge=True)
    except Exception as error:
        raise PeftAdapterError(
            f"the adapter '{adapter.folder}' ({adapter.kind}) cannot be merged into its base:"
            f" {_line(error)}",
            remedy=remedy,
        ) from error
    off = (_logits(model) - before).abs().max() / before.abs().max()
    if off > MERGED[before.dtype]:
        raise PeftAdapterError(
            f"the adapter '{adapter.folder}' ({adapter.kind}) changes its base to another model"
            f" when it is merged: logits differ by {float(off):.1%}",
            remedy=remedy,
        )


def _require_same(model: Any, wrapped: Any, adapter: SavedAdapter) -> None:
    """Refuse an adapter that acts outside of the modules: the base alone would not have it."""
    try:
        same = torch.equal(_logits(model), _logits(wrapped))
        reason = "changes the model outside of its modules"
    except Exception as error:
        same, reason = False, f"cannot be evaluated by itself: {_line(error)}"
    if not same:
        raise PeftAdapterError(
            f"the adapter '{adapter.folder}' ({adapter.kind}) {reason}",
            remedy="Merge it into its base with peft, and name the merged folder.",
        )


@torch.no_grad()
def _logits(model: Any) -> Tensor:
    """Logits of one short row."""
    ids = torch.arange(1, 6, device=next(model.parameters()).device)[None]
    return model(input_ids=ids).logits


def _other_base(adapter: SavedAdapter, reason: str) -> PeftAdapterError:
    name = f" ({adapter.made_for})" if adapter.made_for else ""
    return PeftAdapterError(
        f"the adapter '{adapter.folder}' does not fit this base, it was made for another"
        f"{name}: {reason}",
        remedy="Name the base that the adapter was trained on.",
    )


def _few(names: list[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"


def _line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
