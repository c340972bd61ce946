"""Damage of an edit beside the graph: KL divergence and perplexity ratio on the model's own texts.

The texts are sampled from the unedited model once and kept in the cache. An edit is measured on
`STEP` of them, and on further ones only where the result is near or above a line of `LINES` and not
yet exact to `EXACT`: an edit that changes next to nothing costs a fourth of one that does damage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from ..models.edit import SideEffects

if TYPE_CHECKING:
    from ...editing.deltas import EditEffect
    from ...editing.probe.own_samples import TextChange
    from ...loaders.records import RewriteRequest
    from .resolved import Resolved


LINES = ((0.3, "collapsed"), (0.05, "damaged"), (0.02, "changed"))
"""(KL divergence from which on, word), worst first; calibrated on eleven edited states of two
models (docs/concepts/side-effects.md)."""
PERPLEXITY_DAMAGED = 1.1
"""Perplexity ratio from which on an edit is damaging whatever its KL divergence."""
FAR_LINES = ((0.5, "collapsed"), (0.9, "damaged"))
"""(Median change of known facts at distance 2 and more below which, word), worst first."""
LEAST_FAR = 5
"""Known facts at distance 2 and more from which on their median change decides a word."""
FAR_KEPT, LEAST_KEPT = 0.9, 20
"""Fraction of the known facts at distance 2 and more that are kept, below which an edit changed
them, from so many facts on. A median does not see that one fact of five moved."""
LOST_AROUND = 0.7
"""Mean of min(r, 1/r), r = p_post / p_pre, of facts around the edited one, or about its subject,
below which the edit broke the model."""
WORDS = ("collapsed", "damaged", "changed", "as before")
"""The words for side effects, worst first."""

LENGTH = 64
"""Tokens of a text that are read; the covariance is collected from whole texts."""
STEP = 16
"""Texts that are read before the interval is looked at, each time."""
EXACT = 0.3
"""Half the width of the interval, as a fraction of the mean, that is exact enough."""

OVERSIZED, SCALE = "update larger than the layer's own scale", 0.2
"""The finding of an edit with ‖ΔW‖ / ‖W‖ above `SCALE` in a layer. Updates that keep SmolLM2-135M
have .01 to .06; those of a covariance without rank .4 to 7."""

OFF = "left out by --no-side-effects"
NO_TEXT = "each of the model's own texts names the subject"
OF_PROMPT = "the method changes the prompts of questions, and no weight: texts of its own stay"
SHOWN = "the method shows facts of the graph in its prompts"


def measured(
    resolved: Resolved, effect: EditEffect, edited: Sequence[RewriteRequest]
) -> SideEffects:
    """The side effects of an edit on the unedited model's own texts; the model is restored.

    Args:
        edited: all requests that the effect carries out.
    """
    from ...editing.probe.mentions import contains
    from ...editing.probe.own_samples import changes, hidden, update_norm
    from .method_inputs import own_samples

    if not resolved.request.side_effects:
        return SideEffects(reason=OFF, drift_reason=OFF)
    if effect.changes_nothing:
        return SideEffects(kl=0, kl_low=0, kl_high=0, perplexity_ratio=1)
    if effect.prompt_change is not None:
        return SideEffects(reason=OF_PROMPT, drift_reason=SHOWN)
    runtime, loaded = resolved.runtime, resolved.model.loaded
    key = (loaded.info.digest, loaded.info.dtype)
    samples = own_samples(runtime, loaded).beginnings(LENGTH)
    subjects = {request.subject for request in edited}
    names = [n for s in subjects for n in (s, *resolved.scope.aliases.get(s, ()))]
    found: list[TextChange] = []
    out, excluded = SideEffects(reason=NO_TEXT), 0
    stage, n_texts = "reading the model's own texts", len(samples.texts)
    for at in range(0, n_texts, STEP):
        runtime.progress(at, n_texts, stage)
        part = type(samples)(samples.start, samples.texts[at : at + STEP])
        texts = [loaded.tokenizer.decode(text) for text in part.texts]
        kept = [i for i, text in enumerate(texts) if not contains(text, names)]
        excluded += len(texts) - len(kept)
        before = runtime.memoised(
            ("own states", *key, f"{at}"), lambda part=part: hidden(loaded, part)
        )
        if kept:
            chosen = type(part)(part.start, tuple(part.texts[i] for i in kept))
            found += changes(loaded, effect, chosen, before[kept])
            out = _summed(found, len(samples.texts[0]))
        if _is_exact(out):
            break
    runtime.progress(n_texts, n_texts, stage)
    norm = update_norm(loaded.model, effect)
    return out.model_copy(update={"update_norm": norm, "excluded": excluded})


def findings(resolved: Resolved, effect: EditEffect) -> list[dict[str, object]]:
    """The changed weights whose update is `OVERSIZED`, with ‖ΔW‖ / ‖W‖."""
    from ...editing.probe.own_samples import update_norms

    norms = update_norms(resolved.model.loaded.model, effect)
    return [
        {"finding": OVERSIZED, "weight": name, "norm": norm}
        for name, norm in norms.items()
        if not norm <= SCALE
    ]


def word(found: SideEffects) -> str | None:
    """The worst word of `WORDS` that KL divergence, perplexity ratio or known facts reach.

    None without a KL divergence where the known facts reach no line.
    """
    reached = []
    if found.kl is not None:
        reached.append(next((word for line, word in LINES if found.kl >= line), WORDS[-1]))
        if (found.perplexity_ratio or 1.0) >= PERPLEXITY_DAMAGED:
            reached.append("damaged")
    change = far_change(found)
    if change is not None:
        reached += [word for line, word in FAR_LINES if change < line]
    kept = far_kept(found)
    if kept is not None and kept < FAR_KEPT:
        reached.append("changed")
    worst = min(reached, key=WORDS.index, default=None)
    # A model that keeps the facts that it knows has not collapsed, whatever its own texts say.
    facts_kept = kept is not None and kept >= FAR_KEPT
    return WORDS[1] if worst == WORDS[0] and facts_kept else worst


def far_change(found: SideEffects) -> float | None:
    """The median change of known facts at distance 2 and more; None where they are too few."""
    far = found.drift.far if found.drift else None
    return far.median_change if far and far.n >= LEAST_FAR else None


def far_kept(found: SideEffects) -> float | None:
    """The fraction of known facts at distance 2 and more that are kept; None where too few."""
    far = found.drift.far if found.drift else None
    return far.kept / far.n if far and far.n >= LEAST_KEPT else None


def _summed(found: Sequence[TextChange], length: int) -> SideEffects:
    """The means over texts, which are of equal length, and the interval."""
    from .intervals import bootstrap  # numpy; `--help` should not wait for it

    kl = [change.kl for change in found]
    bounds = next(
        iter(bootstrap(lambda drawn: [sum(kl[i] for i in drawn) / len(kl)], len(kl))), None
    )
    low, high = bounds or (None, None)
    return SideEffects(
        kl=max(0.0, fmean(kl)),
        kl_low=low,
        kl_high=high,
        perplexity_ratio=math.exp(fmean(change.nll for change in found)),
        texts=len(found),
        tokens=len(found) * length,
    )


def _is_exact(found: SideEffects) -> bool:
    """Return True if the interval is below all lines, or narrow."""
    if found.kl is None or found.kl_low is None or found.kl_high is None:
        return False
    narrow = (found.kl_high - found.kl_low) / 2 <= EXACT * found.kl
    return narrow or found.kl_high < LINES[-1][0]
