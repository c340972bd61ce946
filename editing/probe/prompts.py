"""Prompts of a fact: cloze or question, plain or through a chat template.

Imports no torch. A rendered prompt defines the text that separates it from the answer, so sampling
and likelihood use identical prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from thinkeval.editing import answer_tokens
from thinkeval.editing.errors import ProbeError

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


@dataclass(frozen=True, slots=True)
class Rendered:
    """A rendered prompt.

    Attributes:
        text: everything before the answer, without trailing white space (except a template's own).
        special: whether the tokenizer adds special tokens (a BOS); a chat template contains them.
        lead: separator of text and answer: a space, or nothing in a chat.
        seed_text: seed of the random numbers; equal for a prompt with and without
            `prompt_change`.
    """

    text: str
    special: bool
    lead: str
    seed_text: str


@dataclass(frozen=True, slots=True)
class Query:
    """A prompt with its right answers.

    Attributes:
        item: id of the `ProbeItem`, for errors.
        rendered: the text.
        names: object and aliases, without duplicates.
    """

    item: str
    rendered: Rendered
    names: tuple[str, ...]


PromptChange = Callable[[str], str]
"""Function from plain prompt to plain prompt (in-context editing prepends demonstrations)."""


def uses_chat(tokenizer: Any, chat: str) -> bool:
    """Whether prompts use the chat template: `auto` (if there is one), `always`, `never`.

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
        self._change = change

    def cloze(self, text: str) -> Rendered:
        """Render a filled cloze."""
        text = text.rstrip()
        return self._render(CHAT_CLOZE.replace("{cloze}", text) if self._chat else text)

    def question(self, text: str) -> Rendered:
        """Render a question."""
        frame = CHAT_QUESTION if self._chat else QUESTION
        return self._render(frame.replace("{question}", text.strip()))

    def _render(self, plain: str) -> Rendered:
        changed = self._change(plain) if self._change else plain
        if not self._chat:
            return Rendered(changed.rstrip(), special=True, lead=" ", seed_text=plain)
        try:
            text = chat_text(self._tokenizer, [("user", changed)])
        except Exception as error:
            # Templates are Jinja programs and may raise any exception.
            raise ProbeError(
                f"the chat template rejects the prompt '{plain}': {error}",
                remedy="Use --chat never.",
            ) from error
        return Rendered(text, special=False, lead="", seed_text=plain)


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


def prompt_ids(tokenizer: Any, rendered: Rendered) -> list[int]:
    """Token ids of a rendered prompt (`answer_tokens.text_ids`)."""
    return answer_tokens.text_ids(tokenizer, rendered.text, special=rendered.special)


def answer_ids(tokenizer: Any, rendered: Rendered, prompt: list[int], name: str) -> list[int]:
    """Token ids of a name as the continuation of a rendered prompt (`answer_tokens.answer_ids`)."""
    return answer_tokens.answer_ids(
        tokenizer, rendered.text, prompt, name, lead=rendered.lead, special=rendered.special
    )
