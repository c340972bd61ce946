"""Reasoning blocks of an answer: which part of a text is the answer. No torch.

Reasoning models write `<think> ... </think>` before they answer; some write `thinking`, `reasoning`
or `thought` in place of `think`. The answer is the text after the last closed block. A template may
open the block in the prompt, so text before a lone closing tag is reasoning too. A block that is
not closed gives no answer: the limit of tokens ended it, or the server did.
"""

from __future__ import annotations

import re

_TAG = re.compile(r"<(/?)(?:think|thinking|reasoning|thought)>", re.IGNORECASE)
_OPEN = "<think>"


def answer_start(text: str) -> int | None:
    """Return the index where the answer begins; None if a block is not closed."""
    if "<" not in text:
        return 0
    *_, last = [None, *_TAG.finditer(text)]
    if last is None:
        return 0
    return last.end() if last.group(1) else None


def is_unclosed(text: str) -> bool:
    """Return whether the text ends inside a block, so that it gives no answer."""
    return answer_start(text) is None


def answer_of(text: str) -> str | None:
    """Return the text without its reasoning; None if a block is not closed.

    Where nothing follows the last block, the text before the first one is the answer.
    """
    start = answer_start(text)
    if start is None:
        return None
    first = _TAG.search(text) if start else None
    if first is not None and not first.group(1) and not text[start:].strip():
        return text[: first.start()]
    return text[start:]


def unclosed_part(text: str) -> tuple[str, str]:
    """Return the opening tag of a block that is not closed, and the text after it."""
    *_, tag = _TAG.finditer(text)
    return tag.group(), text[tag.end() :]


def opened_by(prompt: str) -> str:
    """Return the opening tag that a prompt ends with; '' if it ends with none."""
    text = prompt.rstrip()
    *_, tag = [None, *_TAG.finditer(text)]
    return tag.group() if tag and tag.end() == len(text) and not tag.group(1) else ""


def unfinished(reasoning: str) -> str:
    """Return the text of an answer that consists of reasoning only: a block that is not closed."""
    return f"{_OPEN}{reasoning}"
