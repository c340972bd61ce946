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
from ..architectures import Adapter
from ..errors import RequestError
from ..probe.decoding import Continuation
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
    starts = [list(tokenizer(opening)["input_ids"]) for opening in OPENINGS]
    texts: list[str] = []
    for length, number in length_params:
        texts += _continued(adapter, tokenizer, starts, length, number // len(OPENINGS), generator)
    return [text.replace("{", brace).replace("}", brace) + ". " + SLOT for text in texts]


@torch.no_grad()
def _continued(
    adapter: Adapter,
    tokenizer: Any,
    starts: Sequence[list[int]],
    length: int,
    number: int,
    generator: torch.Generator,
) -> list[str]:
    """`number` continuations of each opening by top-k sampling, special tokens removed.

    All are continued together. The random numbers are drawn for one opening after the other, and
    with them the choice is that of `torch.multinomial`, as if each opening had a batch of its own.
    """
    if number < 1:
        return []
    kept = min(TOP_K, adapter.model.get_input_embeddings().weight.shape[0])  # type: ignore[operator]
    steps = [max(0, length - len(start)) for start in starts]
    waits = [
        [torch.empty(number, kept).exponential_(generator=generator) for _ in range(n)]
        for n in steps
    ]
    unused = torch.ones(number, kept)  # of an opening that has its tokens already
    found = [list(start) for start in starts for _ in range(number)]
    rows = Continuation(adapter.model, found, pad_id=0)
    for step in range(max(steps)):
        best, tokens = rows.logits.float().cpu().topk(kept)
        waited = torch.cat([own[step] if step < len(own) else unused for own in waits])
        chosen = tokens.gather(1, (best.softmax(-1) / waited).argmax(-1, keepdim=True))
        for row, token in zip(found, chosen[:, 0].tolist(), strict=True):
            if len(row) < length:
                row.append(token)
        chosen = chosen.to(rows.device)
        rows.feed(chosen, torch.ones_like(chosen))
    texts = tokenizer.batch_decode(found, skip_special_tokens=True)
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
