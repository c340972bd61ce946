"""Context templates: short texts sampled from the model that precede a prompt.

With them key and value generalise to contexts beyond the bare prompt (Meng et al., ROME §3.1; MEMIT
§4.2). The published code samples them unseeded, once per process, for any model; here they are
sampled from the unedited model with a seed, returned with the edit, and can be passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import torch
from torch import Tensor

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


@torch.no_grad()
def sample(
    adapter: Adapter,
    tokenizer: Any,
    length_params: Sequence[Sequence[int]],
    *,
    seed: int,
    brace: str = "",
) -> list[str]:
    """Sampled templates `"<text>. {}"`.

    All texts grow together. Their random numbers are drawn before, in the order in which
    `torch.multinomial` takes them for one opening after the other: the texts are those of that.

    Args:
        length_params: [tokens of a text with its opening and BOS, number of texts]; the number is
            divided evenly among the openings, as in the published code.
        seed: of a separate generator; the global random state is unchanged.
        brace: replacement of `{` and `}` in a text ("" in ROME, " " in MEMIT).
    """
    generator = torch.Generator().manual_seed(seed)
    vocabulary: Any = adapter.embeddings.weight
    likeliest = min(TOP_K, len(vocabulary))
    rows: list[list[int]] = []
    draws: list[list[Tensor]] = []
    for length, number in length_params:
        for opening in OPENINGS:
            start = tokenizer(opening)["input_ids"]
            size = (number // len(OPENINGS), likeliest)
            steps = range(len(start), length) if size[0] else ()
            drawn = [torch.empty(size).exponential_(generator=generator) for _ in steps]
            rows += [list(start) for _ in range(size[0])]
            draws += [[step[i] for step in drawn] for i in range(size[0])]
    if not rows:
        return []
    _continue(adapter, tokenizer.pad_token_id or 0, rows, draws)
    decoded = tokenizer.batch_decode(rows, skip_special_tokens=True)
    texts = [" ".join(text.split()) for text in decoded]
    return [text.replace("{", brace).replace("}", brace) + ". " + SLOT for text in texts]


def _continue(
    adapter: Adapter, pad_id: int, rows: list[list[int]], draws: Sequence[Sequence[Tensor]]
) -> None:
    """Append a token to each row for each of its draws, by top-k sampling.

    Args:
        draws: for each row and token, k numbers of the exponential distribution: the index at which
            p / draw is largest is a sample of p.
    """
    alive = [i for i, own in enumerate(draws) if own]
    if not alive:
        return
    state = Continuation(adapter.model, [rows[i] for i in alive], pad_id)
    for step in count():
        drawn = torch.stack([draws[i][step] for i in alive])
        best, tokens = state.logits.float().cpu().topk(drawn.shape[1])
        choice = (best.softmax(-1) / drawn).argmax(-1, keepdim=True)
        chosen = tokens.gather(1, choice)[:, 0].tolist()
        for i, token in zip(alive, chosen, strict=True):
            rows[i].append(token)
        going = [place for place, i in enumerate(alive) if len(draws[i]) > step + 1]
        if not going:
            return
        alive = [alive[place] for place in going]
        state.extend(chosen, going)


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
