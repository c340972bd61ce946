"""Loading of models: the only module that calls `from_pretrained`.

Loads a decoder-only model with its tokenizer from a hub name, a local folder or a GGUF file, with a
given number type and device, and records the digest of the loaded weights and of the model's whole
identity. Code that comes with a model is never run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub import get_hf_file_metadata, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError
from tokenizers import Tokenizer
from torch import nn
from transformers.utils import logging as transformers_logging
from transformers.utils.hub import (
    cached_file,
    extract_commit_hash,
    try_to_load_from_cache,
)

from . import identity, smollm2
from .errors import DeviceMemoryError, ModelLoadError
from .parameter_digests import digests

DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "tf32": torch.float32,
}
"""Number types a model can be loaded in. Editing papers use float32; transformers 5 defaults to
the file's type (bfloat16 for Llama 3 and Qwen), which changes an edit's result. With `tf32` the
weights are float32 and CUDA multiplies matrices in TensorFloat-32, of 10 bits after the point."""

TF32 = "tf32"

ALL = "all"
"""The device that spreads a model over all GPUs, a part of its layers on each."""

TOO_LARGE = (
    "Use --dtype bfloat16, THINKEVAL_DEVICE=all where there are several GPUs, THINKEVAL_DEVICE=cpu,"
    " or a smaller model."
)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A score's record of its model.

    Attributes:
        name: hub name or path, as the user passed it.
        revision: the hub's commit hash; None for a local folder or a model built in memory.
        weights_digest: SHA-256 over the parameters as loaded, see `weights_digest`.
        digest: of the model's identity, see `editing.identity`: its answers are found by it.
        parts: digests of the identity's parts besides the weights.
        dtype: a key of `DTYPES`.
        device: `cpu`, `cuda:0`, `mps`; `cuda:0, cuda:1` of a model on two devices.
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
    digest: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)

    @property
    def inputs(self) -> str:
        """Digest of the parts that decide activations besides the weights; empty if unknown."""
        return identity.inputs_digest(self.parts) if self.parts else ""


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


def use_matmuls(dtype: str) -> None:
    """Multiply float32 matrices in this process from now on as a model of this number type does.

    Args:
        dtype: a key of `DTYPES`: TensorFloat-32 with `tf32`, else float32 itself.
    """
    wanted = "high" if dtype == TF32 else "highest"
    if torch.get_float32_matmul_precision() != wanted:
        torch.set_float32_matmul_precision(wanted)


def load(
    name_or_path: str | Path,
    *,
    revision: str | None = None,
    dtype: str = "float32",
    device: str = "auto",
) -> LoadedModel:
    """Load a model and its tokenizer.

    Args:
        name_or_path: a hub name (`gpt2-xl`), a folder with config, weights and tokenizer, a GGUF
            file, or a folder with one GGUF file; GGUF is dequantised. `smollm2` is fetched.
        revision: branch, tag or commit of a hub model; resolved to a commit first, so that
            configuration, weights and tokenizer are of the same commit.
        dtype: a key of `DTYPES`.
        device: `auto` (first of CUDA, MPS, CPU), a torch device such as `cuda:1`, or `all`.

    Raises:
        ModelLoadError: unknown dtype or device, no such model, missing weights, or a missing or
            incompatible tokenizer.
        DeviceMemoryError: the weights do not fit on the device.
    """
    chosen, place = _dtype(dtype), resolve_device(device)
    name = str(name_or_path)
    if dtype == TF32 and place.type != "cuda":
        raise ModelLoadError(
            f"'{name}' cannot be loaded as {TF32}: it is a mode of CUDA devices, and the device is "
            f"{place}",
            remedy="Use --dtype float32, or THINKEVAL_DEVICE=cuda where there is a GPU.",
        )
    use_matmuls(dtype)
    source, options, pinned = _source(name, revision)
    follow = _following_the_setting() if "gguf_file" in options else contextlib.nullcontext()
    with _quiet(_is_local(options)), follow:
        tokenizer = _load_tokenizer(source, options)
        model = _load_weights(source, chosen, options | placement(place, spread=device == ALL))
    try:
        if device != ALL:
            model.to(place)
    except torch.OutOfMemoryError as error:
        raise DeviceMemoryError(
            f"the weights of '{name}' do not fit on {place} ({error})", remedy=TOO_LARGE
        ) from error
    return wrap(model, tokenizer, name=name, revision=pinned, tf32=dtype == TF32)


def placement(device: torch.device, *, spread: bool = False) -> dict[str, Any]:
    """Options of `from_pretrained` with which weights are read onto accelerators directly.

    Empty for the CPU.

    Args:
        spread: over all of them, beginning with the first.
    """
    if device.type == "cpu":
        return {}
    if spread:
        return {"device_map": "auto"}
    return {"device_map": {"": device}}


def config_of(name_or_path: str | Path, *, revision: str | None = None) -> Any:
    """A model's configuration, without its weights.

    Raises:
        ModelLoadError: no such model, or its configuration cannot be read.
    """
    name = str(name_or_path)
    source, options, _ = _source(name, revision)
    try:
        return transformers.AutoConfig.from_pretrained(source, **options)
    except Exception as error:
        # OSError, ValueError (unknown model type), KeyError, depending on the file.
        raise _refused(f"the configuration of '{name}' could not be read", name, error) from error


def skeleton_of(name_or_path: str | Path, *, revision: str | None = None) -> Any:
    """A model with its shapes and without its weights, from its configuration.

    Raises:
        ModelLoadError: no such model, or its configuration is not that of a language model.
    """
    config = config_of(name_or_path, revision=revision)
    try:
        with torch.device("meta"):
            return transformers.AutoModelForCausalLM.from_config(config)
    except Exception as error:
        name = str(name_or_path)
        raise _refused(f"'{name}' is no language model", name, error) from error


def tokenizer_of(name_or_path: str | Path, *, revision: str | None = None) -> Any:
    """A model's tokenizer, without its weights.

    Raises:
        ModelLoadError: no such model, or no usable tokenizer.
    """
    source, options, _ = _source(str(name_or_path), revision)
    with _quiet(_is_local(options)):
        return _load_tokenizer(source, options)


WEIGHTS = ("model.safetensors", "pytorch_model.bin")
"""Files of weights; of a large model they are an index (`….index.json`) of several."""


def has_weights(name_or_path: str | Path, *, revision: str | None = None) -> bool:
    """Return True if the weights are here: in the folder, or in the hub's cache.

    Raises:
        ModelLoadError: no such model.
    """
    source, options, pinned = _source(str(name_or_path), revision)
    if "gguf_file" in options:
        return True

    def here(name: str) -> Path | None:
        if _is_local(options):
            path = Path(source, name)
            return path if path.is_file() else None
        found = try_to_load_from_cache(source, name, revision=pinned or revision)
        return Path(found) if isinstance(found, str) else None

    for name in WEIGHTS:
        if here(name):
            return True
        if index := here(f"{name}.index.json"):
            parts = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
            return all(here(part) for part in set(parts))
    return False


def file_times(name_or_path: str | Path, *, revision: str | None = None) -> list[Any] | None:
    """Path, size and time of change of a model's files, which are not read; of the hub its commit.

    None: the commit is not known.

    Raises:
        ModelLoadError: no such model.
    """
    source, options, pinned = _source(str(name_or_path), revision)
    if not _is_local(options):
        return [source, pinned] if pinned else None
    return times_of(Path(source, options.get("gguf_file", "")))


def times_of(path: Path) -> list[Any]:
    """Path, size and time of change of a file, or of each file of a folder."""
    found = sorted(path.glob("*")) if path.is_dir() else [path]
    about = [(str(each.resolve()), each.stat()) for each in found if each.is_file()]
    return [[name, stat.st_size, stat.st_mtime_ns] for name, stat in about]


def wrap(
    model: Any, tokenizer: Any, *, name: str, revision: str | None = None, tf32: bool = False
) -> LoadedModel:
    """`LoadedModel` of a model that is already in memory.

    Sets evaluation mode, and a pad token if the tokenizer has none that the model knows. Added
    tokens that the model has no row for are taken out of the tokenizer: their texts are then texts
    like any other.

    Args:
        tf32: True if matrices are multiplied in TensorFloat-32: answers differ, so it is another
            identity.

    Raises:
        ModelLoadError: the tokenizer's own vocabulary has more entries than the model, or no token
            for padding; or a part of the weights is not on an accelerator.
    """
    devices = _devices(model, name)
    _drop_tokens_without_rows(tokenizer, model.get_input_embeddings().weight.shape[0], name)
    _set_pad_token(tokenizer, name)
    model.eval()
    first = next(model.parameters())
    weights, parts = weights_digest(model), identity.parts(model, tokenizer)
    if tf32:
        parts[identity.MATMULS] = TF32
    info = ModelInfo(
        name=name,
        revision=revision,
        weights_digest=weights,
        dtype=TF32 if tf32 else str(first.dtype).removeprefix("torch."),
        device=devices,
        architecture=getattr(model.config, "model_type", type(model).__name__),
        n_parameters=sum(p.numel() for p in model.parameters()),
        digest=identity.identity(weights, parts),
        parts=parts,
    )
    return LoadedModel(model, tokenizer, info)


def state_digest(loaded: LoadedModel) -> str:
    """Digest of a model's identity with the weights that it has now, such as those of an edit."""
    return identity.identity(weights_digest(loaded.model), loaded.info.parts)


def weights_digest(model: nn.Module) -> str:
    """SHA-256 (hex) over all parameters in the order of their names: name, type, shape, bytes.

    A tied parameter counts once. The digest depends on the dtype, not on the device. Parameters
    that have not been written to since the last call are not hashed again; writes through `.data`
    do not count (`editing.parameter_digests`).
    """
    named = sorted(model.named_parameters(), key=lambda pair: pair[0])
    return hashlib.sha256(b"".join(digests(named))).hexdigest()


def resolve_device(device: str) -> torch.device:
    """The torch device of `auto`, `cpu`, `cuda`, `cuda:1`, `mps`; of `all` that of the inputs.

    Raises:
        ModelLoadError: unknown device, or no such device on this machine.
    """
    if device in ("auto", ALL):
        device = "cuda" if torch.cuda.is_available() else "cpu"
        if device == "cpu" and torch.backends.mps.is_available():
            device = "mps"
    try:
        # Creating an empty tensor checks that the device exists, of any kind.
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ModelLoadError(
            f"the device '{device}' cannot be used ({str(error).splitlines()[0]})",
            remedy="Use one of --device auto, cpu, cuda, cuda:0 ..., all or mps.",
        ) from error


def device_of_worker(device: str, number: int) -> str:
    """The device setting of one of several workers of a machine: `auto` deals out its GPUs.

    Args:
        number: of the worker, from 0.
    """
    n_cards = torch.cuda.device_count() if device == "auto" else 0
    return f"cuda:{number % n_cards}" if n_cards else device


def _dtype(name: str) -> torch.dtype:
    if name not in DTYPES:
        raise ModelLoadError(
            f"the number type '{name}' is unknown", remedy=f"Use --dtype {', '.join(DTYPES)}."
        )
    return DTYPES[name]


def fetch_smollm2(
    cache: Path | None = None, progress: Callable[[int, int, str], None] | None = None
) -> Path:
    """Return the folder of SmolLM2-135M-Instruct, fetched once; raises as `smollm2.folder`."""
    return smollm2.folder(_write_float32, cache, progress)


def _write_float32(file: Path, folder: Path) -> None:
    loaded = load(file, device="cpu")
    with _quiet(local=True):
        loaded.model.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)


GGUF = ".gguf"
CONFIG = "config.json"


def _source(name: str, revision: str | None) -> tuple[str, dict[str, Any], str | None]:
    """Source and options for `from_pretrained`, and the commit of a hub model.

    Raises:
        ModelLoadError: neither a model's folder or file nor the name of a model of the hub.
    """
    options: dict[str, Any] = {"trust_remote_code": False}
    path = fetch_smollm2() if name == smollm2.NAME else Path(name).expanduser()
    file = _gguf_of(path, name)
    if file is not None:
        return str(file.parent), options | {"gguf_file": file.name}, None
    if path.is_dir():
        return str(path), options, None
    # A hub name is `model` or `owner/model`; anything else is a path.
    if path.exists() or path.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        missing = "is neither a folder nor a GGUF file" if path.exists() else "does not exist"
        raise ModelLoadError(f"'{name}' {missing}")
    if name.lower().endswith(GGUF):
        raise ModelLoadError(f"there is no file '{name}'", remedy="Give the path of the GGUF file.")
    pinned = _commit(name, revision)
    return name, options | {"revision": pinned or revision}, pinned


def _gguf_of(path: Path, name: str) -> Path | None:
    """The GGUF file that a path names: itself, or the only one of a folder without config.json.

    Raises:
        ModelLoadError: a folder without config.json holds none, or several.
    """
    if not path.is_dir():
        return path if path.is_file() and path.suffix.lower() == GGUF else None
    if (path / CONFIG).is_file():
        return None
    found = sorted(each for each in path.iterdir() if each.suffix.lower() == GGUF)
    if len(found) == 1:
        return found[0]
    if found:
        raise ModelLoadError(
            f"the folder '{name}' has no config.json and {len(found)} GGUF files",
            remedy=f"Name one of them: --model {path / found[0].name}.",
        )
    raise ModelLoadError(f"the folder '{name}' has no config.json, so it is not a model")


def _is_local(options: Mapping[str, Any]) -> bool:
    """Return True if the model comes from a local folder, not from the hub."""
    return "revision" not in options


def _commit(name: str, revision: str | None) -> str | None:
    """Commit of a hub model's revision, from the path of its cached configuration.

    The hub is asked once before: where it does not answer, the library would try for half a minute
    and print each attempt.
    """
    unreachable = _unreachable(name, revision)
    try:
        found = cached_file(
            name, CONFIG, revision=revision, local_files_only=unreachable is not None
        )
        return extract_commit_hash(found, None)
    except OSError as error:
        at = f" at {revision}" if revision else ""
        why = f"the hub cannot be reached: {unreachable}" if unreachable else _first_line(error)
        raise ModelLoadError(
            f"There is no folder '{name}' here, and '{name}'{at} could not be loaded from the hub:"
            f" {why}",
            remedy="Check the path of the folder; of a hub model, the name and the connection."
            " Gated models need `hf auth login` and their licence accepted.",
        ) from error


REACHED_S = 10.0
"""Seconds to wait for the hub's first answer."""


def _unreachable(name: str, revision: str | None) -> str | None:
    """Why the hub does not answer about a model; None if it does, whatever it says."""
    try:
        url = hf_hub_url(name, CONFIG, revision=revision)
        get_hf_file_metadata(url, timeout=REACHED_S)
    except (HfHubHTTPError, ValueError):  # ValueError: no name of the hub
        return None
    except Exception as error:  # those of the hub's HTTP client, which are no OSError
        return _first_line(error)
    return None


def _load_tokenizer(source: str, options: dict[str, Any]) -> Any:
    try:
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(source, **options)
        # Without tokenizer files, transformers 5 silently returns an empty tokenizer.
        usable = len(tokenizer("The mother of", add_special_tokens=False)["input_ids"]) > 0
    except Exception as error:
        # OSError, ValueError, KeyError, or an error of the Rust library, depending on the file.
        if _is_local(options) and _lacks_tokenizer(Path(source), options):
            raise _without_tokenizer(source) from error
        raise _refused(f"the tokenizer of '{source}' could not be loaded", source, error) from error
    if not usable:
        raise _without_tokenizer(source)
    return tokenizer


TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tekken.json", "spiece.model")
"""Files that are a whole tokenizer. `vocab.json` with `merges.txt` is one if its class is named."""


def _lacks_tokenizer(folder: Path, options: Mapping[str, Any]) -> bool:
    return "gguf_file" not in options and not any((folder / name).is_file() for name in TOKENIZERS)


def _without_tokenizer(source: str) -> ModelLoadError:
    folder = Path(source)
    remedy = "Save it with the weights: tokenizer.save_pretrained(folder)."
    found = [n for n in ("vocab.json", "merges.txt", "vocab.txt") if (folder / n).is_file()]
    if found:
        return ModelLoadError(
            f"'{source}' has {' and '.join(found)}, but no file that names the tokenizer's class",
            remedy="Add tokenizer.json, or tokenizer_config.json with the tokenizer_class.",
        )
    return ModelLoadError(
        f"'{source}' has no tokenizer (no {', '.join(TOKENIZERS[:2])})", remedy=remedy
    )


def _load_weights(source: str, dtype: torch.dtype, options: dict[str, Any]) -> Any:
    try:
        loaded: Any = transformers.AutoModelForCausalLM.from_pretrained(
            source, dtype=dtype, output_loading_info=True, ignore_mismatched_sizes=True, **options
        )
        model, report = loaded
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise DeviceMemoryError(
            f"no memory for the weights of '{source}'", remedy=TOO_LARGE
        ) from error
    except Exception as error:
        # OSError (no weights), ValueError (not a causal model), SafetensorError (truncated) ...
        if _is_local(options):
            _refuse_shards_without_index(Path(source), error)
        raise _refused(f"the weights of '{source}' could not be loaded", source, error) from error
    _require_all_tensors(source, report)
    if "gguf_file" in options:
        _as_dequantised(model)
    return model


_OLD_BUFFERS = re.compile(r"(\.|^)(inv_freq|masked_bias|position_ids|cos_cached|sin_cached)$")
"""Constants that older files hold, and that are computed from the configuration by now."""


def _require_all_tensors(source: str, report: Mapping[str, Any]) -> None:
    """Refuse weights that the model lacks, or that have no place in it.

    transformers does not report weights that a class declares as ignorable. It initialises missing
    weights randomly, ignores surplus ones, and only logs a warning.
    """
    missing, mismatched = report["missing_keys"], report.get("mismatched_keys") or ()
    surplus = [key for key in report["unexpected_keys"] if not _OLD_BUFFERS.search(key)]
    if missing:
        raise ModelLoadError(
            f"'{source}' lacks {len(missing)} of its weights ({_few(missing)})",
            remedy="The folder is incomplete or of another architecture; download it again.",
        )
    if mismatched:
        names = [each if isinstance(each, str) else each[0] for each in mismatched]
        raise ModelLoadError(
            f"{len(names)} of the weights of '{source}' have another shape than its config.json"
            f" says ({_few(names)})",
            remedy="config.json and weights are of two models; download both again.",
        )
    if not surplus:
        return
    remedy = (
        "config.json describes another model than the weights (a smaller number of layers, for"
        " one); correct it, or download both again."
    )
    if any(".lora_" in key or "lora_A" in key or key.startswith("base_model.") for key in surplus):
        remedy = (
            "These are tensors of an adapter: merge it into the weights with peft"
            " (`merge_and_unload`), or name the base with +adapter:FOLDER."
        )
    raise ModelLoadError(
        f"{len(surplus)} tensors of '{source}' have no place in the model that its config.json"
        f" describes ({_few(surplus)}), so they would be ignored",
        remedy=remedy,
    )


def _few(names: Collection[str]) -> str:
    shown = ", ".join(sorted(names)[:3])
    return f"{shown} ..." if len(names) > 3 else shown


def _as_dequantised(model: Any) -> None:
    """Make a model that was read from GGUF an ordinary one: its weights are plain numbers.

    transformers refuses to save it while it is marked as quantised.
    """
    for holder in (model, model.config):
        for name in ("quantization_config", "hf_quantizer", "quantization_method", "is_quantized"):
            if name in vars(holder):
                delattr(holder, name)


def _refuse_shards_without_index(folder: Path, error: Exception) -> None:
    """Name the missing index where a folder has the shards of weights only."""
    for suffix, index in (
        ("safetensors", "model.safetensors.index.json"),
        ("bin", "pytorch_model.bin.index.json"),
    ):
        shards = sorted(folder.glob(f"*-of-*.{suffix}"))
        if shards and not (folder / index).is_file():
            raise ModelLoadError(
                f"'{folder}' has {len(shards)} shards of weights ({shards[0].name} ...), but not"
                f" their index {index}",
                remedy=f"Download {index} into the folder.",
            ) from error


def _refused(said: str, name: str, error: Exception) -> ModelLoadError:
    """The error of a model that transformers refuses to load."""
    text = str(error)
    if "trust_remote_code" in text or "custom code" in text:
        return ModelLoadError(
            f"{said}: '{name}' needs custom code (the `auto_map` of its configuration names it),"
            " and code that comes with a model is not run",
            remedy="Use a model whose architecture transformers has itself.",
        )
    if "weights_only" in text:
        return ModelLoadError(f"{said}: {PICKLED}", remedy=UNPICKLED)
    return ModelLoadError(f"{said}: {_first_line(error)}")


PICKLED = "its file of weights is a pickle that calls code, or is damaged; neither is read"
UNPICKLED = "Use weights as .safetensors, or as a .bin file that has tensors only."
"""Problem and remedy of a file that `torch.load` refuses; its message advises to allow code."""


def _devices(model: nn.Module, name: str) -> str:
    """The devices of a model's weights, `cuda:0, cuda:1` where it is spread over several.

    Raises:
        ModelLoadError: a part of the weights is not on an accelerator, but in memory or on disk.
    """
    devices = ", ".join(sorted({str(parameter.device) for parameter in model.parameters()}))
    if "," in devices and ("cpu" in devices or "meta" in devices):
        raise ModelLoadError(
            f"the weights of '{name}' are partly on the CPU or on disk ({devices}); editing and "
            "probing need them on accelerators, or all on the CPU",
            remedy="Use --dtype bfloat16, --device cpu, or a smaller model.",
        )
    return devices


def _drop_tokens_without_rows(tokenizer: Any, rows: int, name: str) -> None:
    """Take special tokens (an added `[PAD]`) that the model has no row for out of a tokenizer.

    Raises:
        ModelLoadError: an entry of the vocabulary, an added word, or a token that is put around
            texts has no row.
    """
    beyond = {token: i for token, i in tokenizer.get_vocab().items() if i >= rows}
    if not beyond:
        return
    backend = getattr(tokenizer, "backend_tokenizer", None)
    written = json.loads(backend.to_str()) if backend is not None else {}
    added = {each["content"] for each in written.get("added_tokens", ()) if each["special"]}
    own = backend.get_vocab(with_added_tokens=False) if backend is not None else beyond
    put = {i for text in ("", "The mother of") for i in tokenizer(text)["input_ids"]}
    if any(token in own or token not in added or i in put for token, i in beyond.items()):
        raise ModelLoadError(
            f"the tokenizer of '{name}' has {len(tokenizer)} entries, the model only {rows}",
            remedy="The tokenizer belongs to another model; save the right one with the weights.",
        )
    written["added_tokens"] = [t for t in written["added_tokens"] if t["content"] not in beyond]
    tokenizer._tokenizer = Tokenizer.from_str(json.dumps(written))
    for mark in tokenizer.SPECIAL_TOKENS_ATTRIBUTES:
        if mark != "additional_special_tokens" and getattr(tokenizer, mark, None) in beyond:
            setattr(tokenizer, mark, None)


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
    if not local:
        yield
        return
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()


@contextlib.contextmanager
def _following_the_setting() -> Iterator[None]:
    """Let the bar of transformers' reader of GGUF files follow the setting of all its bars."""
    from transformers import modeling_gguf_pytorch_utils

    reader: Any = modeling_gguf_pytorch_utils
    own, reader.tqdm = reader.tqdm, transformers_logging.tqdm
    try:
        yield
    finally:
        reader.tqdm = own


def _first_line(error: BaseException) -> str:
    """The first line of a library's error; the next one too where the first ends with a colon."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    said = lines[0]
    for line in lines[1:]:
        if not said.endswith(":"):
            break
        said = f"{said} {line}"
    return said
