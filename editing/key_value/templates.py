"""Context templates: short texts sampled from the model that precede a prompt.

With them key and value generalise to contexts beyond the bare prompt (Meng et al., ROME §3.1; MEMIT
§4.2). The published code samples them unseeded, once per process, for any model; here they are
sampled from the unedited model with a seed, returned with the edit, and can be passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...loaders.records import SUBJECT_SLOT as SLOT
from .. import nethook
from ..architectures import Adapter
from ..errors import RequestError
from .keys import Templates
from .tokens import BARE

OPENINGS = ("The", "Therefore", "Because", "I", "You")
"""Published openings; the texts are divided equally among them."""

TOP_K = 5


def grouped(
    given: Sequence[str] | Sequence[Sequence[str]] | None,
    sampled: Sequence[str],
    *,
    fixed: Sequence[str] = (),
    bare_apart: bool,
) -> Templates:
    """Templates in groups: the passed ones, or bare, fixed and sampled templates.

    Args:
        given: flat or in groups; used unchanged, except that the bare template is inserted first
            if a flat list lacks it.
        sampled: used if `given` is None.
        fixed: precede the sampled ones.
        bare_apart: MEMIT's grouping: the bare template forms a separate group.

    Raises:
        RequestError: a passed template does not have exactly one `{}`, or the groups do not start
            with the bare template (the original value is read in its row).
    """
    flat: list[str] = []
    if given is None:
        flat = [BARE, *(t for t in (*fixed, *sampled) if t != BARE)]
    elif given and not isinstance(given[0], str):
        groups = tuple(tuple(group) for group in given if group)
        return _checked(groups)
    else:
        flat = [BARE, *(str(t) for t in given if t != BARE)]
    if bare_apart and len(flat) > 1:
        return _checked(((BARE,), tuple(flat[1:])))
    return _checked((tuple(flat),))


def sample(
    adapter: Adapter,
    tokenizer: Any,
    length_params: Sequence[Sequence[int]],
    *,
    seed: int,
    brace: str = "",
) -> list[str]:
    """Sampled templates `"<text>. {}"`.

    Args:
        length_params: [tokens of a text with its opening and BOS, number of texts]; the number is
            divided evenly among the openings, as in the published code.
        seed: of a separate generator; the global random state is unchanged.
        brace: replacement of `{` and `}` in a text ("" in ROME, " " in MEMIT).
    """
    generator = torch.Generator().manual_seed(seed)
    texts: list[str] = []
    for length, number in length_params:
        for opening in OPENINGS:
            texts += _continue(
                adapter, tokenizer, opening, length, number // len(OPENINGS), generator
            )
    return [text.replace("{", brace).replace("}", brace) + ". " + SLOT for text in texts]


@torch.no_grad()
def _continue(
    adapter: Adapter,
    tokenizer: Any,
    opening: str,
    length: int,
    number: int,
    generator: torch.Generator,
) -> list[str]:
    """`number` continuations of the opening by top-k sampling, special tokens removed."""
    if number < 1:
        return []
    device = next(adapter.model.parameters()).device
    start = tokenizer(opening)["input_ids"]
    ids = torch.tensor([start] * number)
    while ids.shape[1] < length:
        inputs = {"input_ids": ids.to(device), "attention_mask": torch.ones_like(ids).to(device)}
        logits = nethook.forward(adapter.model, inputs).logits[:, -1].float().cpu()
        best, tokens = logits.topk(min(TOP_K, logits.shape[1]))
        choice = torch.multinomial(best.softmax(-1), 1, generator=generator)
        ids = torch.cat([ids, tokens.gather(1, choice)], 1)
    texts = tokenizer.batch_decode(ids.tolist(), skip_special_tokens=True)
    return [" ".join(text.split()) for text in texts]


def _checked(groups: Templates) -> Templates:
    for template in (t for group in groups for t in group):
        if template.count(SLOT) != 1:
            raise RequestError(
                f"the context template '{template}' does not have exactly one {{}}",
                remedy="Write {} once, in the prompt's place.",
            )
    if not groups or groups[0][0] != BARE:
        raise RequestError(
            "the context templates do not start with the bare template '{}'",
            remedy="Put '{}' first: the original value is read at the bare prompt.",
        )
    return groups
