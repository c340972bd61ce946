"""Models that no adapter can serve: quantised weights, and mixtures of experts. Imports no torch.

Refused before the layout is looked up, since the errors further on name another cause: a quantised
`Linear` looks like a `Linear` whose weight has the wrong shape, and a mixture of experts like a
model without its MLP.
"""

from __future__ import annotations

from typing import Any

from ..errors import UnsupportedArchitectureError

EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
"""Keys of configurations for the number of experts of a layer; 0, 1 or null in dense models."""

WITHOUT_ADAPTER = "Probing works, and methods that change the prompt (ike)."


def check_editable(config: Any, model_type: str) -> None:
    """Refuse models whose weights cannot be edited as one matrix a layer.

    Raises:
        UnsupportedArchitectureError: the model is quantised, or a mixture of experts.
    """
    method = quantisation(config)
    if method is not None:
        raise UnsupportedArchitectureError(
            f"the model is quantised ({method}); an update cannot be added to its weights",
            remedy="Edit the checkpoint that it was quantised from, with --dtype bfloat16 or "
            f"float32. {WITHOUT_ADAPTER}",
        )
    n = number_of_experts(config)
    if n > 1:
        raise UnsupportedArchitectureError(
            f"'{model_type}' is a mixture of experts ({n} a layer); the methods edit one output "
            "projection a layer",
            remedy=f"Edit a dense model, such as one of the same family. {WITHOUT_ADAPTER}",
        )


def quantisation(config: Any) -> str | None:
    """Name of a model's quantisation; None if its weights are plain numbers."""
    found = getattr(config, "quantization_config", None)
    if found is None:
        return None
    values = found if isinstance(found, dict) else vars(found)
    if values.get("dequantize"):  # FP8 and MXFP4 files that were converted while loading
        return None
    method = values.get("quant_method", "unknown method")
    return str(getattr(method, "value", method))


def number_of_experts(config: Any) -> int:
    """Experts of a layer; 0 for a dense model."""
    configs = (config, getattr(config, "text_config", None), getattr(config, "ffn_config", None))
    found = (getattr(part, key, None) for part in configs for key in EXPERTS)
    return max((n for n in found if isinstance(n, int)), default=0)
