"""Fine-tune a model on texts: an update like an edit's, of all weights or of low-rank factors.

The loss is the mean of −log p over the tokens to learn of a batch: those of the answer behind its
prompt, or all but the first of a plain text. AdamW without weight decay at a constant learning
rate, gradients clipped to norm 1, no dropout. With `lora`, peft puts factors B A (rank r, scaled by
2) beside every linear layer but the head, and those alone are trained (Hu et al. 2022,
arXiv:2106.09685); the update is their product. The model is left as it was, bit-identically.

The same texts, settings and weights give the same update on one machine's CPU; a GPU may add sums
in another order.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .. import interruption
from ..answer_tokens import answer_ids, text_ids
from ..deltas import EditEffect, low_rank, preserved
from ..errors import EditFailedError, RequestError
from ..joint import parted
from ..states.extras import package
from ..states.restored import restored
from .settings import FineTuning, Pairs
from .texts import Texts, as_texts
from .weights import called, changes, leaves, set_gradients, widened

MAX_TOKENS = 256
"""A longer plain text is cut into pieces of this length, or of the model's positions."""
MAX_NORM = 1.0
"""Norm to which the gradient of a step is clipped."""
SCALE = 2
"""Factor on the product of the low-rank factors: lora_alpha is this times the rank."""
REMEDY = "Lower the learning rate: finetune:FILE:lr=1e-5."

Progress = Callable[[int, int, str], None]
Row = tuple[Sequence[int], Sequence[int]]


def fine_tuned(
    model: nn.Module,
    tokenizer: Any,
    pairs: Pairs,
    settings: FineTuning,
    progress: Progress = lambda done, total, stage: None,
) -> EditEffect:
    """The update that a fine-tune makes of the model as it is now.

    Args:
        pairs: (prompt, answer), or ("", text).

    Raises:
        RequestError: there is no text to learn, or a prompt is too long for the model.
        EditFailedError: the loss or a weight became NaN or infinite.
        MissingExtraError: `lora` without peft.
    """
    with preserved(model):
        texts = _texts(model, tokenizer, pairs)
        batches = (batch for _, batch in texts.batches(settings.batch, settings.seed))
        trained = _all_weights if settings.lora is None else _low_rank
        effect = trained(model, batches, settings, progress)
    for name, delta in effect.deltas.items():
        if not torch.isfinite(delta).all():
            raise EditFailedError(f"the fine-tuned '{name}' has NaN or infinity", remedy=REMEDY)
    return effect


def n_trained(model: nn.Module, settings: FineTuning) -> int:
    """Return the number of trained numbers: an upper bound of the numbers in the file.

    Args:
        settings: with `lora`, factors of every weight with two dimensions are counted.
    """
    shapes = [parameter.shape for parameter in model.parameters()]
    if settings.lora is None:
        return sum(shape.numel() for shape in shapes)
    return sum(settings.lora * sum(shape) for shape in shapes if len(shape) == 2)


def require_package() -> Any:
    """The package that a fine-tune of low-rank factors needs.

    Raises:
        MissingExtraError: peft is not installed.
    """
    return package("peft", "peft", "A fine-tune with lora=")


def _all_weights(
    model: nn.Module, batches: Iterator[Texts], settings: FineTuning, progress: Progress
) -> EditEffect:
    originals = {name: each.detach() for name, each in model.named_parameters()}
    weights = widened(originals)
    optimizer = torch.optim.AdamW(list(weights.values()), lr=settings.rate, weight_decay=0.0)
    for step in _steps(settings, progress):
        asked = leaves(weights)
        loss = _loss(model, asked, next(batches), step)
        set_gradients(weights, asked, loss)
        _update(optimizer, weights.values())
    moved = changes(weights, originals)
    return EditEffect({name: delta for name, delta in moved.items() if delta.any()})


def _low_rank(
    model: nn.Module, batches: Iterator[Texts], settings: FineTuning, progress: Progress
) -> EditEffect:
    peft = require_package()
    rank = settings.lora or 0
    config = peft.LoraConfig(
        r=rank, lora_alpha=SCALE * rank, target_modules="all-linear", lora_dropout=0.0,
        bias="none", task_type="CAUSAL_LM",
    )  # fmt: skip
    with restored(model):
        torch.manual_seed(settings.seed)
        # peft warns of values that it corrects by itself: the orientation of a Conv1D.
        with warnings.catch_warnings(action="ignore"):
            wrapped = peft.get_peft_model(model, config)
        wrapped.eval()
        factors = [each for each in wrapped.parameters() if each.requires_grad]
        optimizer = torch.optim.AdamW(factors, lr=settings.rate, weight_decay=0.0)
        for step in _steps(settings, progress):
            optimizer.zero_grad()
            _loss(model, {}, next(batches), step).backward()
            _update(optimizer, factors)
        found = dict(_factors(model))
    deltas = {name: low_rank.product(*pair) for name, pair in found.items()}
    kept = {name: delta for name, delta in deltas.items() if delta.any()}
    return EditEffect(kept, factors={name: found[name] for name in kept})


def _factors(model: nn.Module) -> Iterator[tuple[str, tuple[Tensor, Tensor]]]:
    """Factors of each wrapped layer in its weight's own orientation, float32 on the CPU."""
    for name, module in model.named_modules():
        layer: Any = module
        if not hasattr(layer, "lora_A"):
            continue
        (adapter,) = layer.lora_A
        down = layer.lora_A[adapter].weight.detach().float().cpu()
        up = layer.scaling[adapter] * layer.lora_B[adapter].weight.detach().float().cpu()
        pair = (down.T, up.T) if layer.fan_in_fan_out else (up, down)
        yield f"{name}.weight", (pair[0].contiguous(), pair[1].contiguous())


def _steps(settings: FineTuning, progress: Progress) -> Iterator[int]:
    for step in range(settings.steps):
        interruption.check()
        progress(step, settings.steps, "fine-tune")
        yield step
    progress(settings.steps, settings.steps, "fine-tune")


def _loss(model: nn.Module, weights: Mapping[str, Tensor], texts: Texts, step: int) -> Tensor:
    """Mean of −log p over the tokens to learn, float32 or wider.

    Raises:
        EditFailedError: it is NaN or infinite.
    """
    inputs = {**texts.batch.inputs(), "use_cache": False}
    logits = called(model, weights, inputs).logits
    row, place = texts.answers.nonzero(as_tuple=True)
    wanted = texts.batch.input_ids[row, place]
    wide = torch.promote_types(logits.dtype, torch.float32)
    loss = nn.functional.cross_entropy(logits[row, place - 1].to(wide), wanted)
    if not torch.isfinite(loss.detach()):
        raise EditFailedError(
            f"the loss of the fine-tune became NaN or infinite at step {step + 1}", remedy=REMEDY
        )
    return loss


def _update(optimizer: torch.optim.Optimizer, weights: Iterable[Tensor]) -> None:
    nn.utils.clip_grad_norm_(list(weights), MAX_NORM)
    optimizer.step()


def _texts(model: Any, tokenizer: Any, pairs: Pairs) -> Texts:
    """The texts as token rows; those of a single token teach nothing and are left out."""
    positions = getattr(model.config, "max_position_embeddings", None) or MAX_TOKENS
    limit = min(MAX_TOKENS, positions)
    rows: list[Row] = []
    for number, (prompt, answer) in enumerate(pairs, 1):
        rows += _rows(tokenizer, number, prompt, answer, limit)
    if not rows:
        raise RequestError(
            "there is no text to learn from",
            remedy="Give a text of two tokens or more, or prompts with answers.",
        )
    return as_texts(model, tokenizer, [f"text {i + 1}" for i in range(len(rows))], rows)


def _rows(tokenizer: Any, number: int, prompt: str, answer: str, limit: int) -> list[Row]:
    if not prompt:
        ids = text_ids(tokenizer, answer)
        pieces = [ids[start : start + limit] for start in range(0, len(ids), limit)]
        return [(piece[:1], piece[1:]) for piece in pieces if len(piece) > 1]
    prompt, lead = parted(prompt)
    ids = text_ids(tokenizer, prompt)
    target = answer_ids(tokenizer, prompt, ids, answer, lead=lead)
    if len(ids) + len(target) > limit:
        raise RequestError(
            f"example {number} to learn has {len(ids) + len(target)} tokens, more than {limit}",
            remedy="Shorten its prompt or its answer.",
        )
    return [(ids, target)] if ids and target else []
