"""Chat or plain text: the choice for a model, and efficacy with and without the chat template."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from ...editing.atomic_write import whole_file
from ...loaders.records import Fact, digest
from .. import NUMBERS_VERSION
from ..graphs.datasets import Dataset
from ..models.edit import KNOWN, MetricValue
from .probe import Answer, ProbedFact, Question, probe, questions_for
from .runtime import Runtime

if TYPE_CHECKING:
    from ...editing.deltas import EditEffect
    from ...editing.models import LoadedModel
    from ...editing.probe import ProbeSettings


# Choice of chat or plain text for a model: measured, where the request says `auto`.
#
# A chat template does not help every instruct model to give a short answer: a small one may know
# most facts by the plain cloze and none as the user's turn. So a sample of the graph's facts is
# asked both ways by likelihood, once for a model and a graph, and the way of the higher mean is
# taken. The mean is over the facts of the sample that are known either way (likelihood of KNOWN
# or more); over all of them where none is known. The sample depends on the graph alone, so all
# edits of a model are asked in the same way. The measurement is kept in the cache.

SAMPLE = 20
"""Facts that are asked both ways."""
FAR_APART = 10.0
"""Factor between the two means from which a model knows the facts almost only one way."""


@dataclass(frozen=True, slots=True)
class ChatChosen:
    """The measurement, and the way that it chose.

    Attributes:
        way: `chat` or `plain`.
        chat, plain: mean likelihood of the facts counted; None for chat where the template rejects
            a prompt.
        n: facts that are counted, of `asked`.
        known: True if those counted are the known ones; else all of them are counted.
        reasoning_closed: the template opens a block of reasoning, which is closed before an answer.
    """

    way: Literal["chat", "plain"]
    chat: float | None
    plain: float
    n: int
    asked: int
    known: bool
    reasoning_closed: bool

    @property
    def sentence(self) -> str:
        """The way with both means, and the option for the other one where they are far apart."""
        way = "in the model's chat template" if self.way == "chat" else "as plain text"
        what = f"{self.n} {'known ' if self.known else ''}facts of the graph"
        if self.chat is None:
            return f"Asked {way}: the chat template rejects the prompts."
        text = f"Asked {way}: mean likelihood {self.plain:.3f} plain, {self.chat:.3f} in the chat"
        text += f" ({what})."
        low, high = sorted((self.plain, self.chat))
        if self.known and high >= FAR_APART * low:
            only, other = ("in its chat", "--chat never asks it as plain text")
            if self.way == "plain":
                only, other = ("as plain text", "--chat always asks it in its chat")
            text += f" The model knows them almost only {only}, so it is asked that way; {other}."
        return text

    def as_dict(self) -> dict[str, Any]:
        """For the record."""
        return asdict(self) | {"sentence": self.sentence}


def settled(
    runtime: Runtime, dataset: Dataset, loaded: LoadedModel, settings: ProbeSettings
) -> tuple[ProbeSettings, ChatChosen | None]:
    """The settings with `chat` always or never in place of `auto`, and the measurement if any.

    A model without a chat template is asked by plain text, and nothing is measured.
    """
    if settings.chat != "auto":
        return settings, None
    if getattr(loaded.tokenizer, "chat_template", None) is None:
        return replace(settings, chat="never"), None
    key = ("chat", dataset.digest, loaded.info.digest, loaded.info.dtype, settings.ask)
    chosen = runtime.memoised(
        key, lambda: _kept(runtime, key, lambda: _measured(runtime, dataset, loaded, settings))
    )
    return replace(settings, chat="always" if chosen.way == "chat" else "never"), chosen


def _kept(runtime: Runtime, key: Sequence[str], measure: Callable[[], ChatChosen]) -> ChatChosen:
    """The measurement of an earlier process, of the cache, else a new one."""
    name = digest([*key, NUMBERS_VERSION, SAMPLE, KNOWN])
    path = runtime.settings.cache / "chat" / f"{name}.json"
    if (kept := read(path)) is not None:
        return kept
    found = measure()
    with whole_file(path) as out:
        out.write_text(json.dumps(asdict(found)))
    return found


def read(path: Path) -> ChatChosen | None:
    """The measurement of a file; None if it is missing or damaged: it is made again."""
    with suppress(OSError, ValueError, TypeError, RecursionError):
        return ChatChosen(**json.loads(path.read_bytes()))
    return None


def _measured(
    runtime: Runtime, dataset: Dataset, loaded: LoadedModel, settings: ProbeSettings
) -> ChatChosen:
    from ...editing.errors import ProbeError
    from ...editing.probe.prompts import opens_reasoning

    content = runtime.content_of(dataset)
    facts = _sample(
        [f for f in content.facts if settings.ask == "cloze" or f.question], dataset.digest
    )
    aliases = {entity.name: entity.aliases for entity in content.entities}
    exact = replace(settings, measures=("likelihood",), paraphrases=False)

    def values(chat: Literal["always", "never"]) -> list[float]:
        answers = probe(
            loaded, questions_for(facts, aliases), replace(exact, chat=chat),
            progress=runtime.progress,
        )  # fmt: skip
        return [answer.values["likelihood"] for answer in answers]

    if not facts:
        return ChatChosen("plain", 0.0, 0.0, 0, 0, known=False, reasoning_closed=False)
    plain = values("never")
    try:
        chat = values("always")
    except ProbeError:
        return ChatChosen(
            "plain", None, fmean(plain), len(plain), len(plain), known=False, reasoning_closed=False
        )
    pairs = list(zip(chat, plain, strict=True))
    known = [pair for pair in pairs if max(pair) >= KNOWN]
    counted = known or pairs
    in_chat, plainly = fmean(c for c, _ in counted), fmean(p for _, p in counted)
    way: Literal["chat", "plain"] = "chat" if in_chat > plainly else "plain"
    return ChatChosen(
        way,
        in_chat,
        plainly,
        len(counted),
        len(pairs),
        bool(known),
        opens_reasoning(loaded.tokenizer),
    )


def _sample(facts: Sequence[Fact], seed: str) -> list[Fact]:
    """Facts drawn by the graph's digest, with one prompt for each, whatever their order."""
    ordered = sorted({(f.subject, f.relation): f for f in facts}.values(), key=lambda f: f.id)
    return random.Random(seed).sample(ordered, min(SAMPLE, len(ordered)))


def way_asked(settings: ProbeSettings, chosen: ChatChosen | None) -> str | None:
    """Return the way of asking that `settled` gave, as a sentence."""
    about = {"chat_chosen": chosen and chosen.as_dict(), "probe": {"chat": settings.chat}}
    return way_of(about)


def way_of(provenance: Mapping[str, Any]) -> str | None:
    """Return how a stored result was asked, as a sentence; None where its record lacks it."""
    chosen = provenance.get("chat_chosen")
    if chosen:
        return str(chosen["sentence"])
    chat = (provenance.get("probe") or {}).get("chat")
    return {"always": "Asked in the model's chat template.", "never": "Asked as plain text."}.get(
        str(chat)
    )


# Efficacy with and without the chat template, for models that have one.
#
# An edit is computed at the plain prompt, and papers measure efficacy there; an instruct model
# may be probed in its chat (`chat_choice`). The two can differ, so a score has both:
# `efficacy_chat` and `efficacy_plain`. One of them is `efficacy` itself, the other is one more
# probe of the new object.

CHAT, PLAIN = "efficacy_chat", "efficacy_plain"
SAMPLED = "p"


def measured(
    loaded: LoadedModel,
    settings: ProbeSettings,
    effect: EditEffect,
    probed: Sequence[ProbedFact],
) -> list[MetricValue]:
    """Both values by each measure, n = 1 prompt; nothing for a model without a chat template.

    Nothing for a request to forget either, as it has no new object.

    A template that rejects the prompt, under `chat` never, gives None with n = 0, and so do samples
    that are all undecided.

    Args:
        settings: of the score's probe; whatever `chat` says, the other way is asked too.
        probed: the score's facts with the edited model's answers, one of them of the new object.
    """
    from ...editing.deltas import applied
    from ...editing.errors import ProbeError
    from ...editing.probe.prompts import uses_chat

    new = next((fact for fact in probed if fact.question.role == "target_new"), None)
    if new is None or getattr(loaded.tokenizer, "chat_template", None) is None:
        return []
    own, other = (CHAT, PLAIN) if uses_chat(loaded.tokenizer, settings.chat) else (PLAIN, CHAT)
    turned = replace(settings, chat="never" if other == PLAIN else "always")
    question = replace(new.question, neighborhood=())
    answer = None
    with applied(loaded.model, effect):
        try:
            (answer,) = probe(loaded, [question], turned, prompt_change=effect.prompt_change)
        except ProbeError:
            if other == PLAIN:
                raise
    return [
        _value(metric, measure, question, found, asked=found is answer)
        for metric, found in ((own, new.post), (other, answer))
        for measure in settings.measures
    ]


def _value(
    metric: str, measure: str, question: Question, found: Answer | None, asked: bool
) -> MetricValue:
    """The value; with an interval where it is sampled and asked here, for the other is efficacy."""
    value = None if found is None else found.values.get(measure)
    if found is None or value is None:
        return MetricValue(metric=metric, measure=measure, value=None, n=0)
    low = high = None
    if asked and measure == SAMPLED:
        from . import intervals  # numpy; `--help` should not wait for it

        names = (question.fact.object, *question.aliases)
        low, high = intervals.of_answers(found.answers, names)
    return MetricValue(metric=metric, measure=measure, value=value, n=1, low=low, high=high)
