"""Training loop: Muon for the matrices of the blocks, AdamW for all other parameters."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from .config import OrganismConfig, Recipe
from .corpus import Corpus
from .muon import Muon
from .rows import Batch, batches
from .shapes import SHAPES, attention_modules
from .tokens import Encoder

Progress = Callable[[int, int, str], None]

WARM_UP = 30
"""Steps over which the learning rate rises."""

FINAL_RATE = 0.02
"""End of the cosine schedule, as a fraction of the full learning rate."""

POSITIONS = 128
WEIGHT_DECAY = 0.01


@contextmanager
def _one_thread() -> Iterator[None]:
    """One thread: at this width two are not faster, and on a busy machine many times slower."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _early_layers_see(model: PreTrainedModel, layers: int, box: list[Tensor]) -> Iterator[None]:
    """Replace the model's attention mask by that in `box` in the first `layers` layers."""

    def swap(_module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        return args, {**kwargs, "attention_mask": box[0]}

    modules = attention_modules(model)[:layers]
    handles = [m.register_forward_pre_hook(swap, with_kwargs=True) for m in modules]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _optimizers(model: PreTrainedModel, recipe: Recipe) -> list[torch.optim.Optimizer]:
    embeddings = {
        id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()
    }
    matrices = [p for p in model.parameters() if p.ndim == 2 and id(p) not in embeddings]
    chosen = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in chosen]
    return [
        Muon(matrices, lr=recipe.muon_lr, weight_decay=WEIGHT_DECAY),
        torch.optim.AdamW(others, lr=recipe.adamw_lr, betas=(0.9, 0.98), weight_decay=WEIGHT_DECAY),
    ]


def _rate(step: int, steps: int) -> float:
    """Fraction of the full learning rate at a step: warm-up, then a cosine."""
    if step < WARM_UP:
        return (step + 1) / WARM_UP
    done = (step - WARM_UP) / max(1, steps - WARM_UP)
    return FINAL_RATE + (1 - FINAL_RATE) * (1 + math.cos(math.pi * done)) / 2


def _loss(model: PreTrainedModel, batch: Batch, box: list[Tensor]) -> Tensor:
    """Weighted cross-entropy of each next token, in nats."""
    box[0] = batch.early_mask
    logits = model(input_ids=batch.ids, attention_mask=batch.mask, use_cache=False).logits
    # Targets are shifted, not logits: slicing logits would copy the largest tensor twice.
    targets, weights = batch.ids.roll(-1, dims=1), batch.weights.roll(-1, dims=1)
    weights[:, -1] = 0.0
    losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return (losses * weights.flatten()).sum() / weights.sum()


def train_model(
    corpus: Corpus,
    tokenizer: PreTrainedTokenizerFast,
    config: OrganismConfig,
    recipe: Recipe,
    progress: Progress | None = None,
) -> PreTrainedModel:
    """A model trained on the corpus, in evaluation mode, on the CPU in float32.

    The global random state and the number of threads are unchanged on return.

    Args:
        progress: called after each step with (step, steps, "training, loss 1.23").
    """
    rng = random.Random(config.seed)
    with _one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        encode = Encoder(tokenizer)
        positions = max(POSITIONS, recipe.length)
        model = SHAPES[config.architecture](config, len(tokenizer), positions, encode.end)
        optimizers = _optimizers(model, recipe)
        base_rates = [group["lr"] for o in optimizers for group in o.param_groups]
        stream = batches(
            corpus, encode, rng, rows=recipe.rows, length=recipe.length, share=recipe.mask_share
        )
        box: list[Tensor] = [torch.empty(0)]
        with _early_layers_see(model.train(), recipe.mask_layers, box):
            for step, batch in zip(range(recipe.steps), stream, strict=False):
                groups = [group for o in optimizers for group in o.param_groups]
                for group, rate in zip(groups, base_rates, strict=True):
                    group["lr"] = rate * _rate(step, recipe.steps)
                loss = _loss(model, batch, box)
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                for optimizer in optimizers:
                    optimizer.step()
                    optimizer.zero_grad(set_to_none=True)
                if progress:
                    progress(step + 1, recipe.steps, f"training, loss {loss.item():.2f}")
    return model.eval()
