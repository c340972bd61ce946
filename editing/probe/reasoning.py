"""Reasoning blocks of an answer: which part of a text is the answer. No torch.

Reasoning models write `<think> ... </think>` before they answer; some write `thinking`, `reasoning`
or `thought` in place of `think`, or tags of their own (`_OWN`). The answer is the text after the
last closed block. Harmony (gpt-oss) writes its answer to a channel of its own, `final`; text in any
other one is reasoning, also where the marks of the channels are removed (`analysis ...
assistantfinal`). A template may open the block in the prompt, so text before a lone closing tag is
reasoning too. A block that is not closed gives no answer: the limit of tokens ended it, or the
server did.
"""

from __future__ import annotations

import re

_OWN = {
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<seed:think>": "</seed:think>",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
}
"""Tags of families of models (Magistral, Kimi, Seed, Command, OpenThinker), with those that close
them."""
_CHANNEL = r"<\|channel\|>\s*{name}\b[^<>]*(?:<\|constrain\|>[^<>]*)?<\|message\|>"
_TAG = re.compile(
    "(?P<close></(?:think|thinking|reasoning|thought)>|"
    + "|".join(map(re.escape, _OWN.values()))
    + "|"
    + _CHANNEL.format(name="final")
    + r"|(?-i:assistantfinal)"
    + ")|(?P<channel>"
    + _CHANNEL.format(name=r"(?!final\b)\w+")
    + r"|(?-i:\Aanalysis ?(?=[A-Z])))"
    + "|<(?P<name>think|thinking|reasoning|thought)>|"
    + "|".join(map(re.escape, _OWN)),
    re.IGNORECASE,
)
_END_OF_CHANNEL = re.compile(r"<\|(?:end|return|call|start|channel)\|>")
_OPEN = "<think>"
_UNKNOWN = re.compile(
    r"(?:<\|[^<>]*\|>|[<\[◁])(?![^\s<>\[\]]*(?:/|no|off|end|skip))[^\s<>\[\]]*"
    r"(?:think|reason|thought|analysis)[^\s<>\[\]/]*"
    r"(?:[>\]▷]|<\|message\|>)+\s*$",
    re.IGNORECASE,
)
"""A tag at the end of a prompt that, by its name, opens reasoning."""


def answer_start(text: str) -> int | None:
    """Return the index where the answer begins; None if a block is not closed."""
    *_, last = [None, *_TAG.finditer(text)]
    if last is None:
        return 0
    return last.end() if last["close"] else None


def is_unclosed(text: str) -> bool:
    """Return True if the text ends inside a block, so that it gives no answer."""
    return answer_start(text) is None


def answer_of(text: str) -> str | None:
    """Return the text without its reasoning; None if a block is not closed.

    Where nothing follows the last block, the text before the first one is the answer.
    """
    start = answer_start(text)
    if start is None:
        return None
    first = _TAG.search(text) if start else None
    answer = _END_OF_CHANNEL.split(text[start:], maxsplit=1)[0]
    if first is None or first["close"] or first["channel"] or answer.strip():
        return answer
    return text[: first.start()]


def unclosed_part(text: str) -> tuple[str, str]:
    """Return the opening tag of a block that is not closed, and the text after it."""
    *_, tag = _TAG.finditer(text)
    return tag.group(), text[tag.end() :]


def opened_by(prompt: str) -> str:
    """Return the opening tag that a prompt ends with; '' if it ends with none."""
    text = prompt.rstrip()
    *_, tag = [None, *_TAG.finditer(text)]
    if tag is None or tag.end() < len(text) or tag["close"] or tag["channel"]:
        return ""
    return tag.group()


def left_open(text: str) -> tuple[int, str] | None:
    """Return the end of the tag of the block that a text leaves open, and the tag that closes it.

    None if it leaves none open.
    """
    *_, tag = [None, *_TAG.finditer(text)]
    if tag is None or tag["close"] or tag["channel"]:
        return None
    own = {opening.lower(): closing for opening, closing in _OWN.items()}
    return tag.end(), own.get(tag.group().lower()) or f"</{tag['name']}>"


def unknown_tag(prompt: str) -> str | None:
    """Return the tag at a prompt's end that seems to open reasoning and is none of those known."""
    found = _UNKNOWN.search(prompt)
    return found.group().strip() if found and not opened_by(prompt) else None


def unfinished(reasoning: str) -> str:
    """Return the text of an answer that consists of reasoning only: a block that is not closed."""
    return f"{_OPEN}{reasoning}"
