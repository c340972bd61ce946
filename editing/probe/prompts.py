"""Prompts of a fact: cloze or question, plain or through a chat template.

Imports no torch. A rendered prompt defines the text that separates it from the answer, so sampling
and likelihood use identical prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .. import answer_tokens
from ..errors import ProbeError
from ..joint import joint, parted
from .reasoning import left_open, unknown_tag

QUESTION = "Question: {question} Answer:"
"""Prompt of a question for a model without chat template."""

CHAT_QUESTION = "Answer with the name only, without a sentence around it. {question}"
"""A question as the user's turn of a chat."""

CHAT_CLOZE = (
    "Complete the sentence. Give only the words that are missing at its end, without repeating "
    "the sentence: {cloze}"
)
"""A cloze as the user's turn of a chat. Instruct models do not complete a bare cloze reliably."""

_TEMPLATE_OPTIONS = {"date_string": "01 Jan 2025", "enable_thinking": False}
"""For templates that otherwise insert the current date (Llama 3.1) or enable reasoning before the
answer (Qwen 3); templates without these options ignore them."""

_MARK = "Kyoto"


@dataclass(frozen=True, slots=True)
class Rendered:
    """A rendered prompt.

    Attributes:
        text: everything before the answer, without spaces at its end (except a template's own).
        special: True if the tokenizer adds special tokens (a BOS); a chat template contains them.
        lead: separator of text and answer where the prompt's own spaces or the chat template fix
            it; None where it follows from text and answer (`editing.joint`).
        seed_text: seed of the random numbers; equal for a prompt with and without
            `prompt_change`.
    """

    text: str
    special: bool
    lead: str | None
    seed_text: str


@dataclass(frozen=True, slots=True)
class Query:
    """A prompt with its right answers.

    Attributes:
        item: id of the `ProbeItem`, for errors.
        rendered: the text.
        names: object and aliases, without duplicates.
        longer: names of other entities that contain one of these.
    """

    item: str
    rendered: Rendered
    names: tuple[str, ...]
    longer: tuple[str, ...] = ()


PromptChange = Callable[[str], str]
"""Function from plain prompt to plain prompt (in-context editing prepends demonstrations)."""


def uses_chat(tokenizer: Any, chat: str) -> bool:
    """Return True if prompts use the chat template: `auto` (if there is one), `always`, `never`.

    Raises:
        ProbeError: `always`, but the tokenizer has none.
    """
    has = getattr(tokenizer, "chat_template", None) is not None
    if chat == "always" and not has:
        raise ProbeError(
            "the tokenizer has no chat template", remedy="Use --chat never, or an instruct model."
        )
    return has and chat != "never"


class Rendering(Protocol):
    """From a cloze or a question to the prompt that is asked."""

    def cloze(self, text: str) -> Rendered:
        """Render a filled cloze."""
        ...

    def question(self, text: str) -> Rendered:
        """Render a question."""
        ...


class Renderer:
    """Renders clozes and questions for one tokenizer.

    Args:
        tokenizer: its chat template is used depending on `chat`.
        chat: `auto`, `always` or `never`.
        change: applied to the plain text; in a chat, to the user's turn.
    """

    def __init__(self, tokenizer: Any, chat: str, change: PromptChange | None = None) -> None:
        self._tokenizer = tokenizer
        self._chat = uses_chat(tokenizer, chat)
        self._lead = chat_lead(tokenizer) if self._chat else None
        self._change = change

    def cloze(self, text: str) -> Rendered:
        """Render a filled cloze."""
        return self._render(CHAT_CLOZE.replace("{cloze}", text.rstrip()) if self._chat else text)

    def question(self, text: str) -> Rendered:
        """Render a question."""
        frame = CHAT_QUESTION if self._chat else QUESTION
        return self._render(frame.replace("{question}", text.strip()))

    def _render(self, plain: str) -> Rendered:
        changed = self._change(plain) if self._change else plain
        if not self._chat:
            return plainly(changed, plain)
        try:
            text = chat_text(self._tokenizer, [("user", changed)])
        except Exception as error:
            # Templates are Jinja programs and may raise any exception.
            raise ProbeError(
                f"the chat template rejects the prompt '{plain}': {error}",
                remedy="Use --chat never.",
            ) from error
        text = closed(text, changed)
        return Rendered(text, special=False, lead=self._lead, seed_text=plain)


def plainly(text: str, seed_text: str | None = None) -> Rendered:
    """A plain prompt as it is asked, without a chat."""
    asked, lead = parted(text)
    seed_text = asked if seed_text is None else parted(seed_text)[0]
    return Rendered(asked, special=True, lead=lead, seed_text=seed_text)


def chat_text(tokenizer: Any, turns: Sequence[tuple[str, str]]) -> str:
    """Turns (role, text) through the tokenizer's chat template, up to the answer.

    Raises:
        Exception: any, from the template, which is a Jinja program.
    """
    return tokenizer.apply_chat_template(
        [{"role": role, "content": text} for role, text in turns],
        tokenize=False,
        add_generation_prompt=True,
        **_TEMPLATE_OPTIONS,
    )


def chat_lead(tokenizer: Any) -> str | None:
    """The separator that a chat template writes between its prompt and an assistant's answer.

    None where the template does not tell; then the text rule holds (`[/INST]` gets a space).
    """
    try:
        prompt = closed(chat_text(tokenizer, [("user", "?")]), "?")
        written: str = tokenizer.apply_chat_template(
            [{"role": "user", "content": "?"}, {"role": "assistant", "content": _MARK}],
            tokenize=False,
            **_TEMPLATE_OPTIONS,
        )
    except Exception:  # A template is a program; its refusals are reported when it is asked.
        return None
    if prompt[-1:].isspace():
        return ""
    between, mark, _ = written.removeprefix(prompt).partition(_MARK)
    return between if mark and written.startswith(prompt) and not between.strip() else None


def closed(text: str, content: str) -> str:
    """A prompt of a chat template whose reasoning block, if it opens one, is closed and empty.

    Models that reason are trained with an empty block for answers without reasoning. A probability
    of an answer inside the block says nothing about the answer.

    Args:
        content: of the last turn, which may name the tags itself.

    Raises:
        ProbeError: the template begins the reasoning with words of its own, or by a tag of which
            the closing one is not known.
    """
    start = text.rfind(content) + len(content) if content and content in text else 0
    tail = text[start:]
    if (unknown := unknown_tag(tail)) is not None:
        raise ProbeError(
            f"the chat template seems to open the model's reasoning with '{unknown}', and it is not"
            " known how that is closed",
            remedy="Use --chat never.",
        )
    opened = left_open(tail)
    if opened is None:
        return text
    end, closing = opened
    begun = tail[end:]
    if begun.strip():
        raise ProbeError(
            f"the chat template begins the model's reasoning itself: '{begun.strip()}'",
            remedy="Use --chat never.",
        )
    return f"{text.rstrip()}\n\n{closing}\n\n"


def opens_reasoning(tokenizer: Any) -> bool:
    """Return True if the chat template opens a reasoning block, which `closed` closes."""
    try:
        text = chat_text(tokenizer, [("user", "?")])
        return closed(text, "?") != text
    except Exception:  # As in `chat_lead`.
        return False


def prompt_ids(tokenizer: Any, rendered: Rendered) -> list[int]:
    """Token ids of a rendered prompt (`answer_tokens.text_ids`)."""
    return answer_tokens.text_ids(tokenizer, rendered.text, special=rendered.special)


def answer_text(rendered: Rendered, name: str) -> str:
    """Return a name as it is written behind a rendered prompt, with its separator."""
    lead = joint(rendered.text, name) if rendered.lead is None else rendered.lead
    return lead + name


def answer_ids(tokenizer: Any, rendered: Rendered, prompt: list[int], name: str) -> list[int]:
    """Token ids of a name as the continuation of a rendered prompt (`answer_tokens.answer_ids`)."""
    return answer_tokens.answer_ids(
        tokenizer, rendered.text, prompt, name, lead=rendered.lead, special=rendered.special
    )


def apart(tokenizer: Any, query: Query) -> bool:
    """Return True if a name is tokenised apart from its prompt (`answer_tokens.Spelling`)."""
    rendered = query.rendered
    prompt = prompt_ids(tokenizer, rendered)
    return any(
        answer_tokens.spelling(
            tokenizer, rendered.text, prompt, name, lead=rendered.lead, special=rendered.special
        ).apart
        for name in query.names
    )
