"""Loading of models: the only module that calls `from_pretrained`.

Loads a decoder-only model with its tokenizer from a hub name or a local folder, with a given number
type and device, and records the digest of the loaded weights.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn
from transformers.utils import logging as transformers_logging
from transformers.utils.hub import cached_file, extract_commit_hash
from transformers.utils.import_utils import is_accelerate_available

from thinkeval.editing.errors import DeviceMemoryError, ModelLoadError
from thinkeval.editing.parameter_digests import digests

DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
"""Number types a model can be loaded in. Editing papers use float32; transformers 5 defaults to
the file's type (bfloat16 for Llama 3 and Qwen), which changes an edit's result."""

ONE_DEVICE = (
    "A model must fit on one device; it is not divided among several GPUs. Use --dtype bfloat16, "
    "--device cpu, or a smaller model."
)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A score's record of its model.

    Attributes:
        name: hub name or path, as the user passed it.
        revision: the hub's commit hash; None for a local folder or a model built in memory.
        weights_digest: SHA-256 over the parameters as loaded, see `weights_digest`.
        dtype: `float32`, `bfloat16` or `float16`.
        device: `cpu`, `cuda:0`, `mps`.
        architecture: the configuration's `model_type`.
        n_parameters: number of weights, tied ones counted once.
    """

    name: str
    revision: str | None
    weights_digest: str
    dtype: str
    device: str
    architecture: str
    n_parameters: int


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model in evaluation mode with its tokenizer and its record.

    Attributes:
        model: a transformers model with its language-modelling head.
        tokenizer: has a pad token; its `padding_side` is ignored.
    """

    model: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    info: ModelInfo

    @property
    def device(self) -> torch.device:
        """Device of the parameters, and so of the inputs."""
        return next(self.model.parameters()).device


def use_threads(count: int) -> None:
    """Compute on at most `count` threads in this process from now on."""
    torch.set_num_threads(count)


def load(
    name_or_path: str | Path,
    *,
    revision: str | None = None,
    dtype: str = "float32",
    device: str = "auto",
) -> LoadedModel:
    """Load a model and its tokenizer.

    Args:
        name_or_path: a hub name (`gpt2-xl`) or a folder with config, weights and tokenizer.
        revision: branch, tag or commit of a hub model; resolved to a commit first, so that
            configuration, weights and tokenizer are of the same commit.
        dtype: a key of `DTYPES`.
        device: `auto` (first of CUDA, MPS, CPU), or a torch device such as `cuda:1`.

    Raises:
        ModelLoadError: unknown dtype or device, no such model, missing weights, or a missing or
            incompatible tokenizer.
        DeviceMemoryError: the weights do not fit on the device.
    """
    chosen, place = _dtype(dtype), resolve_device(device)
    name = str(name_or_path)
    local = _is_local(name)
    source = str(Path(name).expanduser()) if local else name
    pinned = None if local else _commit(source, revision)
    options: dict[str, Any] = {} if local else {"revision": pinned or revision}
    with _quiet(local):
        tokenizer = _load_tokenizer(source, options)
        model = _load_weights(source, chosen, options | placement(place))
    try:
        model.to(place)
    except torch.OutOfMemoryError as error:
        raise DeviceMemoryError(
            f"the weights of '{name}' do not fit on {place} ({error})", remedy=ONE_DEVICE
        ) from error
    return wrap(model, tokenizer, name=name, revision=pinned)


def placement(device: torch.device) -> dict[str, Any]:
    """Options of `from_pretrained` with which weights are read onto one accelerator directly.

    Empty for the CPU, and without the package `accelerate`, which transformers requires for them;
    all weights are then read into the CPU's memory first.
    """
    if device.type == "cpu" or not is_accelerate_available():
        return {}
    return {"device_map": {"": device}}


def config_of(name_or_path: str | Path, *, revision: str | None = None) -> Any:
    """A model's configuration, without its weights.

    Raises:
        ModelLoadError: no such model, or its configuration cannot be read.
    """
    name = str(name_or_path)
    local = _is_local(name)
    source = str(Path(name).expanduser()) if local else name
    options = {} if local else {"revision": _commit(source, revision) or revision}
    try:
        return transformers.AutoConfig.from_pretrained(source, **options)
    except Exception as error:
        # OSError, ValueError (unknown model type), KeyError, depending on the file.
        raise ModelLoadError(
            f"the configuration of '{name}' could not be read: {_first_line(error)}"
        ) from error


def wrap(model: Any, tokenizer: Any, *, name: str, revision: str | None = None) -> LoadedModel:
    """`LoadedModel` of a model that is already in memory.

    Sets evaluation mode, and a pad token if the tokenizer has none.

    Raises:
        ModelLoadError: the tokenizer has more entries than the model, or no token for padding; or
            the weights are on several devices.
    """
    _refuse_several_devices(model, name)
    _set_pad_token(tokenizer, name)
    rows = model.get_input_embeddings().weight.shape[0]
    if len(tokenizer) > rows:
        raise ModelLoadError(
            f"the tokenizer of '{name}' has {len(tokenizer)} entries, the model only {rows}",
            remedy="The tokenizer belongs to another model; save the right one with the weights.",
        )
    model.eval()
    first = next(model.parameters())
    info = ModelInfo(
        name=name,
        revision=revision,
        weights_digest=weights_digest(model),
        dtype=str(first.dtype).removeprefix("torch."),
        device=str(first.device),
        architecture=getattr(model.config, "model_type", type(model).__name__),
        n_parameters=sum(p.numel() for p in model.parameters()),
    )
    return LoadedModel(model, tokenizer, info)


def weights_digest(model: nn.Module) -> str:
    """SHA-256 (hex) over all parameters in the order of their names: name, type, shape, bytes.

    A tied parameter counts once. The digest depends on the dtype, not on the device. Parameters
    that have not been written to since the last call are not hashed again; writes through `.data`
    do not count (`editing.parameter_digests`).
    """
    named = sorted(model.named_parameters(), key=lambda pair: pair[0])
    return hashlib.sha256(b"".join(digests(named))).hexdigest()


def resolve_device(device: str) -> torch.device:
    """The torch device of `auto`, `cpu`, `cuda`, `cuda:1`, `mps`.

    Raises:
        ModelLoadError: unknown device, or no such device on this machine.
    """
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
        if device == "cpu" and torch.backends.mps.is_available():
            device = "mps"
    try:
        # Creating an empty tensor checks that the device exists, of any kind.
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ModelLoadError(
            f"the device '{device}' cannot be used ({str(error).splitlines()[0]})",
            remedy="Use one of --device auto, cpu, cuda, cuda:0 ... or mps.",
        ) from error


def _dtype(name: str) -> torch.dtype:
    if name not in DTYPES:
        raise ModelLoadError(
            f"the number type '{name}' is unknown", remedy=f"Use --dtype {', '.join(DTYPES)}."
        )
    return DTYPES[name]


def _is_local(name: str) -> bool:
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelLoadError(f"the folder '{name}' has no config.json, so it is not a model")
        return True
    # A hub name is `model` or `owner/model`; anything else is a path.
    if path.exists() or path.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise ModelLoadError(f"'{name}' is not a folder")
    return False


def _commit(name: str, revision: str | None) -> str | None:
    """Commit of a hub model's revision, from the path of its cached configuration."""
    try:
        return extract_commit_hash(cached_file(name, "config.json", revision=revision), None)
    except OSError as error:
        raise ModelLoadError(
            f"'{name}'{f' at {revision}' if revision else ''} could not be loaded from the hub: "
            f"{_first_line(error)}",
            remedy="Check the name and the connection, or name a local folder; "
            "gated models need `hf auth login` and their licence accepted.",
        ) from error


def _load_tokenizer(source: str, options: dict[str, Any]) -> Any:
    try:
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(source, **options)
        # Without tokenizer files, transformers 5 silently returns an empty tokenizer.
        usable = len(tokenizer("The mother of", add_special_tokens=False)["input_ids"]) > 0
    except Exception as error:
        # OSError, ValueError, KeyError, or an error of the Rust library, depending on the file.
        raise ModelLoadError(
            f"the tokenizer of '{source}' could not be loaded: {_first_line(error)}"
        ) from error
    if not usable:
        raise ModelLoadError(
            f"'{source}' has no tokenizer",
            remedy="Save it with the weights: tokenizer.save_pretrained(folder).",
        )
    return tokenizer


def _load_weights(source: str, dtype: torch.dtype, options: dict[str, Any]) -> Any:
    try:
        loaded: Any = transformers.AutoModelForCausalLM.from_pretrained(
            source, dtype=dtype, output_loading_info=True, **options
        )
        model, report = loaded
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise DeviceMemoryError(
            f"no memory for the weights of '{source}'", remedy=ONE_DEVICE
        ) from error
    except Exception as error:
        # OSError (no weights), ValueError (not a causal model), SafetensorError (truncated) ...
        raise ModelLoadError(
            f"the weights of '{source}' could not be loaded: {_first_line(error)}"
        ) from error
    if report["missing_keys"]:
        # transformers initialises these randomly and only logs a warning.
        examples = ", ".join(sorted(report["missing_keys"])[:3])
        raise ModelLoadError(
            f"'{source}' lacks {len(report['missing_keys'])} of its weights ({examples} ...)",
            remedy="The folder is incomplete or of another architecture; download it again.",
        )
    return model


def _refuse_several_devices(model: nn.Module, name: str) -> None:
    devices = sorted({str(parameter.device) for parameter in model.parameters()})
    if len(devices) > 1:
        raise ModelLoadError(
            f"the weights of '{name}' are on several devices ({', '.join(devices)}); editing and "
            "probing use one",
            remedy="Load it on one device: --device cuda:0 with --dtype bfloat16, or --device cpu.",
        )


def _set_pad_token(tokenizer: Any, name: str) -> None:
    if tokenizer.pad_token_id is not None:
        return
    # In memory only. Padding is always masked, so any token works.
    token = tokenizer.eos_token or tokenizer.unk_token or tokenizer.bos_token
    if token is None:
        raise ModelLoadError(
            f"the tokenizer of '{name}' has no pad, end, unknown or begin token to pad with",
            remedy="Set tokenizer.pad_token and save the tokenizer again.",
        )
    tokenizer.pad_token = token


@contextlib.contextmanager
def _quiet(local: bool) -> Iterator[None]:
    """Suppress the progress bar of reading a local file, but not that of a download."""
    if not local or not transformers_logging.is_progress_bar_enabled():
        yield
        return
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.enable_progress_bar()


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
