"""Refusal of models that cannot be asked in batches: their answers would depend on the other rows.

Probes pad rows on the left and read an answer's probability off one pass over its tokens. A model
that does not mask the padding (RWKV), or whose predictions see later tokens (a masked language
model, XLNet), gives other numbers then, without any error.
"""

from __future__ import annotations

import torch

from ..errors import ProbeError
from ..evaluation_mode import evaluating
from ..models import LoadedModel
from ..probe.decoding import Continuation

ROUNDING = {torch.float64: 1e-6, torch.float32: 1e-4}
"""Largest difference of logits by rounding, relative to the largest one."""
ROUNDING_HALF = 0.1
"""The same of 16-bit types."""


@torch.no_grad()
def require_batches(loaded: LoadedModel) -> None:
    """Compare a short row by itself, beside a longer one, and as the beginning of a longer one.

    Three short forward passes.

    Raises:
        ProbeError: the predictions after the row differ by more than rounding.
    """
    model, pad_id = loaded.model, loaded.tokenizer.pad_token_id
    n = model.get_input_embeddings().weight.shape[0]
    ids = [1 + (17 * i) % (n - 1) for i in range(12)]
    row = ids[:4]
    with evaluating(model):
        alone = Continuation(model, [row], pad_id).logits[0].float()
        padded = Continuation(model, [row, ids[4:]], pad_id).logits[0].float()
        begun = torch.tensor([ids], device=loaded.device)
        inside = model(input_ids=begun).logits[0, len(row) - 1].float()
    most = ROUNDING.get(next(model.parameters()).dtype, ROUNDING_HALF) * alone.abs().max()
    for found, reason in (
        (padded, "change with the padding of a batch"),
        (inside, "see later tokens"),
    ):
        if (found - alone).abs().max() > most:
            raise ProbeError(
                f"the predictions of '{loaded.info.name}' ({loaded.info.architecture}) {reason},"
                " so its answers cannot be measured",
                remedy="Use a causal language model that masks padding.",
            )
