"""The float64 loop of whole forwards on every architecture; module paths are written down again."""

from __future__ import annotations

import copy

from support.references.edit_reference import Reference

LAYERS = {
    "gpt2": "transformer.h",
    "gptj": "transformer.h",
    "gpt_neox": "gpt_neox.layers",
    "gemma3": "model.language_model.layers",
}
PROJECTIONS = {"gpt2": "mlp.c_proj", "gptj": "mlp.fc_out", "gpt_neox": "mlp.dense_4h_to_h"}


class ArchitectureReference(Reference):
    """`Reference` on any architecture; logits are the model's own."""

    def __init__(self, model, tokenizer):
        self.model = copy.deepcopy(model).double().eval().requires_grad_(False)
        self.tokenizer = tokenizer
        kind = model.config.model_type
        self.path = PROJECTIONS.get(kind, "mlp.down_proj")
        self.layers = list(self.model.get_submodule(LAYERS.get(kind, "model.layers")))

    def projection(self, layer):
        return self.layers[layer].get_submodule(self.path)
