"""Quantised copies of a loaded model's linear layers, put in place for a time.

Without CUDA by torchao, weights only: each row of a weight [out, in] is divided by its scale and
rounded to 8 bits (`int8`), or each group of 32 numbers of a row to 4 bits (`int4`; torchao stores
them in bytes, so that it shows what 4 bits do to answers but saves no memory over 8). On CUDA by
bitsandbytes: LLM.int8 (Dettmers et al. 2022, arXiv:2208.07339, with outliers in float16) and NF4
(Dettmers et al. 2023, arXiv:2305.14314). As in transformers, the head keeps its numbers; so does
whatever is no linear layer: embeddings, norms, experts that are stored as one tensor.

The original layers stay in memory, so that the base is restored bit-identically without loading it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, Literal

import torch
from torch import nn

from ..architectures._refused import quantisation
from ..errors import UnsupportedArchitectureError
from ..models import LoadedModel, resolve_device
from .extras import package
from .restored import restored

Bits = Literal["8bit", "4bit"]
INT4: torch.dtype = vars(torch)["int4"]  # absent in torch's stubs
GROUP = 32
"""Numbers of a row that share a scale in 4 bits."""


@contextmanager
def quantized(loaded: LoadedModel, bits: Bits) -> Iterator[dict[str, Any]]:
    """Quantise the model for the duration of a `with` block; yield a record's fields of it.

    Raises:
        UnsupportedArchitectureError: the model is quantised already, or has no linear layer.
        MissingExtraError: torchao, or on CUDA bitsandbytes, is not installed.
    """
    model = loaded.model
    method = quantisation(model.config)
    if method is not None:
        raise UnsupportedArchitectureError(
            f"the weights of '{loaded.info.name}' are quantised already ({method})",
            remedy="Name the checkpoint that it was quantised from, or ask it as it is.",
        )
    library, scheme, make = _scheme(bits, loaded.device)
    with restored(model):
        n = _replace(model, make)
        if n == 0:
            raise UnsupportedArchitectureError(
                f"'{loaded.info.name}' has no linear layer that could be quantised",
                remedy="Leave out the quantisation.",
            )
        yield {
            "scheme": f"{library} {scheme}",
            "version": version(library),
            "layers": n,
        }


def require_package(bits: Bits, device: str) -> None:
    """Refuse quantisation where the package of the device is absent.

    Raises:
        MissingExtraError: names the extra.
    """
    _scheme(bits, resolve_device(device))


def _replace(model: Any, make: Callable[[nn.Linear], nn.Module]) -> int:
    """Replace every linear layer but the head by its quantised copy; returns their number."""
    head = model.get_output_embeddings()
    names = [
        name
        for name, module in model.named_modules()
        if module is not head and _is_linear(module) and module.weight.is_floating_point()
    ]
    for name in names:
        parent, _, child = name.rpartition(".")
        with torch.no_grad():
            copied = make(_as_linear(model.get_submodule(name)))
        setattr(model.get_submodule(parent), child, copied.eval())
    return len(names)


def _is_linear(module: nn.Module) -> bool:
    # Subclasses compute something of their own with the weight.
    return type(module) is nn.Linear or type(module).__name__ == "Conv1D"


def _as_linear(module: Any) -> nn.Linear:
    """A new `Linear` of the same map; GPT-2's `Conv1D` stores its weight transposed."""
    conv = not isinstance(module, nn.Linear)
    weight = module.weight.detach().T if conv else module.weight.detach()
    made = nn.Linear(weight.shape[1], weight.shape[0], bias=module.bias is not None, device="meta")
    made.weight = nn.Parameter(weight.contiguous().clone(), requires_grad=False)
    if module.bias is not None:
        made.bias = nn.Parameter(module.bias.detach().clone(), requires_grad=False)
    return made


def _scheme(bits: Bits, device: torch.device) -> tuple[str, str, Callable[[nn.Linear], nn.Module]]:
    """Library, name of the scheme, and the function from a layer to its quantised copy."""
    what = f"A model in {bits.removesuffix('bit')} bits"
    if device.type == "cuda":
        bnb = package("bitsandbytes", "quantized", f"{what} on CUDA")
        name = "LLM.int8" if bits == "8bit" else "NF4"
        return "bitsandbytes", name, lambda layer: _bitsandbytes(bnb, layer, bits, device)
    ao = package("torchao.quantization", "quantized", what)
    if bits == "8bit":
        name = "int8 weight-only, a scale for each row"
        return "torchao", name, lambda layer: _torchao(ao, layer, _int8(ao))
    name = f"int4 weight-only, a scale for each {GROUP} numbers of a row"
    return "torchao", name, lambda layer: _torchao(ao, layer, _int4(ao, layer))


def _torchao(ao: Any, layer: nn.Linear, config: Any) -> nn.Module:
    ao.quantize_(layer, config)
    return layer


def _int8(ao: Any) -> Any:
    # Without its settings of the compiler, which would be those of the whole process.
    return ao.Int8WeightOnlyConfig(set_inductor_config=False)


def _int4(ao: Any, layer: nn.Linear) -> Any:
    """Groups of a row, or the whole row where its length is not divisible."""
    whole = layer.in_features % GROUP != 0
    granularity = ao.PerAxis(0) if whole else ao.PerGroup(GROUP)
    return ao.IntxWeightOnlyConfig(weight_dtype=INT4, granularity=granularity)


def _bitsandbytes(bnb: Any, layer: nn.Linear, bits: Bits, device: torch.device) -> nn.Module:
    """A layer of bitsandbytes; moving its weight from the CPU to CUDA quantises it."""
    size = (layer.in_features, layer.out_features, layer.bias is not None)
    weight = layer.weight.detach().cpu()
    if bits == "8bit":
        made = bnb.nn.Linear8bitLt(*size, has_fp16_weights=False, threshold=6.0, device="meta")
        made.weight = bnb.nn.Int8Params(weight, requires_grad=False, has_fp16_weights=False)
    else:
        made = bnb.nn.Linear4bit(
            *size, compute_dtype=layer.weight.dtype, quant_type="nf4", device="meta"
        )
        made.weight = bnb.nn.Params4bit(weight, requires_grad=False, quant_type="nf4")
    if layer.bias is not None:
        made.bias = layer.bias
    return made.to(device)
