"""Adapter: uniform access to the layers of any decoder-only model. Imports no torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..errors import EditingError, UnsupportedArchitectureError

if TYPE_CHECKING:
    from torch import Tensor, nn

Orientation = Literal["in_out", "out_in"]


def unchanged(_: Any, logits: Tensor) -> Tensor:
    """The logits as the head returns them: the logits function of most architectures."""
    return logits


def one(_: Any) -> float:
    """1: most architectures add a block's output to the residual stream as it is."""
    return 1.0


@dataclass(frozen=True, slots=True)
class Layout:
    """Module paths of one architecture, and its model's computation between its modules.

    Attributes:
        layers: path of the list of decoder layers, from the model (`transformer.h`).
        mlp: path of the MLP block within a layer; ROME's value replaces its output.
        mlp_in: projection into the MLP (with a gated MLP: the gate; where one matrix computes gate
            and up, that matrix, and the gate must be the first half of its output).
        mlp_out: projection back into the residual stream; the weight that ROME, MEMIT and
            fine-tuning change. Its input is the key k.
        attention: path of the attention block within a layer.
        final_norm: path of the norm before the head, from the model.
        lm_head: path of the head, from the model.
        embeddings: path of the input embeddings, from the model.
        logits: (text configuration, output of the head) → the model's logits, for architectures
            that scale or cap the head's output.
        post_norm: path, within a layer, of the RMS norm between the MLP's output and the residual
            stream; None without one. The output of a norm is bounded, so MEMIT and its family
            do not reach all of z (`editing.key_value.residuals`).
        residual_factor: text configuration → the constant that the MLP's output (after that norm)
            is multiplied by before it is added.
    """

    layers: str
    mlp: str
    mlp_in: str
    mlp_out: str
    attention: str
    final_norm: str
    lm_head: str
    embeddings: str
    logits: Callable[[Any, Tensor], Tensor] = unchanged
    post_norm: str | None = None
    residual_factor: Callable[[Any], float] = one


class Projection(NamedTuple):
    """A linear map inside a layer: the module, its name in the model, its weight's name."""

    module: nn.Module
    name: str
    weight: str


class Adapter:
    """The layers of one model, by number.

    Attributes:
        model: the model; never modified by the adapter.
        layout: the module paths.
        layers_path: path of the list of layers, for example `transformer.h`.
        n_layers: number of decoder layers.
    """

    def __init__(self, model: nn.Module, layout: Layout) -> None:
        self.model = model
        self.layout = layout
        self.layers_path = layout.layers
        layers = self._at(layout.layers)
        self.n_layers = len(layers)  # type: ignore[arg-type]

    @property
    def final_norm(self) -> nn.Module:
        """The norm between the last layer and the head."""
        return self._at(self.layout.final_norm)

    @property
    def lm_head(self) -> nn.Module:
        """The map from hidden states to vocabulary logits."""
        return self._at(self.layout.lm_head)

    def logits(self, hidden: Tensor) -> Tensor:
        """The model's logits [..., vocabulary] of normed final hidden states [..., d_model].

        The only way from a hidden state to logits: the bare head misses what some architectures do
        to its output (`Layout.logits`). They are on the device of the hidden states, also where
        the head is on another.
        """
        return self.layout.logits(self._config, self.lm_head(hidden)).to(hidden.device)

    def post_norm(self, layer: int) -> nn.Module | None:
        """The norm between a layer's MLP output and the residual stream, if there is one."""
        path = self.layout.post_norm
        return None if path is None else self._at(f"{self.layer_name(layer)}.{path}")

    @property
    def residual_factor(self) -> float:
        """The factor on the MLP's output in the residual stream."""
        return float(self.layout.residual_factor(self._config))

    @property
    def embeddings(self) -> nn.Module:
        """The input embeddings."""
        return self._at(self.layout.embeddings)

    def layer_name(self, layer: int) -> str:
        """Full module name of a layer, for example `transformer.h.5`.

        Raises:
            EditingError: there is no such layer (negative numbers are invalid).
        """
        if not 0 <= layer < self.n_layers:
            raise EditingError(
                f"layer {layer} does not exist: the model has layers 0 to {self.n_layers - 1}",
                remedy="Correct the layer numbers in the hparams; they count from 0.",
            )
        return f"{self.layers_path}.{layer}"

    def layer_module(self, layer: int) -> nn.Module:
        """A decoder layer. Its forward may return a tensor or a tuple (GPT-2 changed in 5.x)."""
        return self._at(self.layer_name(layer))

    def mlp(self, layer: int) -> nn.Module:
        """The MLP block of a layer."""
        return self._at(f"{self.layer_name(layer)}.{self.layout.mlp}")

    def mlp_name(self, layer: int) -> str:
        """Full module name of a layer's MLP block."""
        return f"{self.layer_name(layer)}.{self.layout.mlp}"

    def attention(self, layer: int) -> nn.Module:
        """The attention block of a layer."""
        return self._at(f"{self.layer_name(layer)}.{self.layout.attention}")

    def mlp_out(self, layer: int) -> Projection:
        """The MLP's output projection: `c_proj` in GPT-2, `down_proj` in Llama."""
        return self._projection(layer, self.layout.mlp_out)

    def mlp_in(self, layer: int) -> Projection:
        """The MLP's input projection: `c_fc` in GPT-2, `gate_proj` in Llama."""
        return self._projection(layer, self.layout.mlp_in)

    def orientation(self, module: nn.Module) -> Orientation:
        """Return how a projection stores its weight: `in_out` (y = x W) or `out_in` (y = x Wᵀ).

        Determined by the module's type: the shape of a square weight is ambiguous.

        Raises:
            UnsupportedArchitectureError: neither a `Conv1D` nor a `Linear`.
        """
        # By class name: importing torch here would delay every import of the package by seconds.
        kinds = {base.__name__ for base in type(module).__mro__}
        if "Conv1D" in kinds:
            return "in_out"
        if "Linear" in kinds:
            return "out_in"
        raise UnsupportedArchitectureError(
            f"{type(module).__name__} is neither a Conv1D nor a Linear, so the orientation of its "
            "weight is unknown",
            remedy="Load the model without quantisation.",
        )

    def key_size(self, layer: int) -> int:
        """Dimensions of a layer's keys (d_mlp): the input dimension of its output projection."""
        module, _, weight = self.mlp_out(layer)
        rows, columns = self.model.get_parameter(weight).shape
        return rows if self.orientation(module) == "in_out" else columns

    @property
    def _config(self) -> Any:
        config: Any = self.model.config
        return config.get_text_config()

    def _projection(self, layer: int, path: str) -> Projection:
        name = f"{self.layer_name(layer)}.{path}"
        return Projection(self._at(name), name, f"{name}.weight")

    def _at(self, path: str) -> nn.Module:
        try:
            return self.model.get_submodule(path)
        except AttributeError as error:
            raise UnsupportedArchitectureError(
                f"{type(self.model).__name__} has no module '{path}' ({error})",
                remedy="The model needs its language-modelling head "
                "(AutoModelForCausalLM); load it with thinkeval.editing.models.load.",
            ) from error
