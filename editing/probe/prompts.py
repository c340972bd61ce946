"""How a fact is put to a model: cloze or question, plain or through a chat template.

Imports no torch. A rendered prompt knows which text has to come next for the object to be the
answer, so that sampling and likelihood ask exactly the same thing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thinkeval.editing.errors import ProbeError

QUESTION = "Question: {question} Answer:"
"""A question to a model without chat template."""

CHAT_QUESTION = "Answer with the name only, without a sentence around it. {question}"
"""A question as the user's turn of a chat."""

CHAT_CLOZE = (
    "Complete the sentence. Give only the words that are missing at its end, without repeating "
    "the sentence: {cloze}"
)
"""A cloze as the user's turn of a chat. An instruct model answers a bare cloze with anything."""

_TEMPLATE_OPTIONS = {"date_string": "01 Jan 2025", "enable_thinking": False}
"""For templates that would otherwise write today's date (Llama 3.1) or let the model think aloud
(Qwen 3) before it answers; templates without these options ignore them."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """The text a model gets.

    Attributes:
        text: everything before the answer, without white space at its end (but a template's own).
        special: whether the tokenizer adds its own special tokens (a BOS); a chat template writes
            them itself.
        lead: what stands between the text and the answer: a space, or nothing in a chat.
        seed_text: names the stream of random numbers; the same for a prompt before and after
            `prompt_change`.
    """

    text: str
    special: bool
    lead: str
    seed_text: str


@dataclass(frozen=True, slots=True)
class Query:
    """One text to be answered, with the names that count as the right answer.

    Attributes:
        item: id of the `ProbeItem`, for errors.
        rendered: the text.
        names: object and aliases, without repeats.
    """

    item: str
    rendered: Rendered
    names: tuple[str, ...]


PromptChange = Callable[[str], str]
"""Changes the plain text of a prompt (in-context editing puts demonstrations before it)."""


def uses_chat(tokenizer: Any, chat: str) -> bool:
    """Whether prompts go through the chat template: `auto` (if there is one), `always`, `never`.

    Raises:
        ProbeError: `always`, and the tokenizer has none.
    """
    has = getattr(tokenizer, "chat_template", None) is not None
    if chat == "always" and not has:
        raise ProbeError(
            "the tokenizer has no chat template", remedy="Use --chat never, or an instruct model."
        )
    return has and chat != "never"


class Renderer:
    """Renders clozes and questions for one tokenizer.

    Args:
        tokenizer: its chat template is used when `chat` says so.
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
            text = self._tokenizer.apply_chat_template(
                [{"role": "user", "content": changed}],
                tokenize=False,
                add_generation_prompt=True,
                **_TEMPLATE_OPTIONS,
            )
        except Exception as error:
            # Templates are programs of their own (Jinja) and raise whatever they like.
            raise ProbeError(
                f"the chat template refuses the prompt '{plain}': {error}",
                remedy="Use --chat never.",
            ) from error
        return Rendered(text, special=False, lead="", seed_text=plain)


def prompt_ids(tokenizer: Any, rendered: Rendered) -> list[int]:
    """Token ids of a rendered prompt, with the tokens that the tokenizer puts before a text.

    Tokens that it would put after a text (an EOS) are left out: the answer follows.
    """
    return _ids(tokenizer, rendered.text, rendered.special)


def answer_ids(tokenizer: Any, rendered: Rendered, prompt: list[int], name: str) -> list[int]:
    """Token ids of a name as the continuation of a prompt.

    Prompt and name are tokenised together, as the model read them in training; with SentencePiece,
    tokenising " name" by itself would give another first token. If the border between the two is
    no border of tokens, the name is tokenised by itself after all, because the model is asked with
    the prompt's own tokens.
    """
    joint = _ids(tokenizer, rendered.text + rendered.lead + name, rendered.special)
    if joint[: len(prompt)] == prompt:
        return joint[len(prompt) :]
    return _ids(tokenizer, rendered.lead + name, False)


def _ids(tokenizer: Any, text: str, special: bool) -> list[int]:
    encoded = tokenizer(
        text,
        add_special_tokens=special,
        return_special_tokens_mask=True,
        return_attention_mask=False,
    )
    ids, mask = list(encoded["input_ids"]), encoded["special_tokens_mask"]
    while special and len(ids) > 1 and mask[len(ids) - 1]:
        ids.pop()
    return ids
