"""Inputs and outputs of a probe: settings, items, results. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, cast, get_args

from ...loaders.records import digest
from ..errors import ProbeError

Measure = Literal["p", "likelihood", "likelihood_norm"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

_PROTOCOLS: Mapping[Measure, int] = {"p": 3, "likelihood": 2, "likelihood_norm": 2}
"""Version of each measure, part of the digests of settings that have it: increment that of `p` when
truncation or matching changes, and all when prompts do."""


@dataclass(frozen=True, slots=True)
class ProbeSettings:
    """Settings of a probe. Probes with equal digests evaluate facts identically.

    Attributes:
        samples: k, generations per distinct prompt (1 or more).
        ask: `cloze` (the filled prompt) or `question`.
        measures: the `MEASURES` to compute.
        max_new_tokens: maximum length of an answer, in tokens.
        temperature: of sampling, above 0; the likelihood is always computed at 1.
        seed: of sampling.
        paraphrases: average over the prompt (or question) and all paraphrases of a fact. The
            paraphrases are clozes and rendered as such.
        chat: use the tokenizer's chat template: `auto` (if it has one; scores choose by a
            measurement before), `always`, `never`.
        batch_tokens: maximum tokens of a batch, padding counted; by default all that fit. Does not
            change the results and is not part of the digest.
    """

    samples: int = 5
    ask: Literal["cloze", "question"] = "cloze"
    measures: tuple[Measure, ...] = MEASURES
    max_new_tokens: int = 16
    temperature: float = 1.0
    seed: int = 0
    paraphrases: bool = False
    chat: Literal["auto", "always", "never"] = "auto"
    batch_tokens: int | None = None

    def __post_init__(self) -> None:
        """Validate the settings.

        Raises:
            ProbeError: names the setting and its allowed values.
        """
        for name in ("samples", "max_new_tokens"):
            _require(getattr(self, name) >= 1, name, getattr(self, name), "1 or more")
        _require(self.temperature > 0, "temperature", self.temperature, "above 0")
        _require(
            self.batch_tokens is None or self.batch_tokens >= 1,
            "batch_tokens",
            self.batch_tokens,
            "1 or more",
        )
        _require(self.ask in ("cloze", "question"), "ask", self.ask, "cloze or question")
        _require(
            self.chat in ("auto", "always", "never"), "chat", self.chat, "auto, always or never"
        )
        known = bool(self.measures) and set(self.measures) <= set(MEASURES)
        _require(known, "measures", self.measures, f"some of {', '.join(MEASURES)}")

    def as_dict(self) -> dict[str, Any]:
        """The settings as JSON-compatible values, for provenance."""
        return {**asdict(self), "measures": list(self.measures)}

    @property
    def digest(self) -> str:
        """16 hex digits over all settings that can change a result."""
        parts = self.as_dict()
        del parts["batch_tokens"]
        parts["measures"] = sorted(self.measures)
        return digest({**parts, "protocol": max(_PROTOCOLS[name] for name in self.measures)})


_FIELDS = tuple(ProbeSettings.__dataclass_fields__)


def protocol_of(settings: Mapping[str, Any], measure: str, digest: str | None = None) -> str:
    """The protocol id of values: form, way of asking, scoring and version.

    `cloze/plain/likelihood/v2`, or `question/chat/p:5x16@1/v3` of 5 samples of 16 tokens at
    temperature 1. Values of two ids are not comparable.

    Args:
        settings: as `ProbeSettings.as_dict` gives them; `chat` settled.
        measure: one of `MEASURES`.
        digest: of the settings, as stored; one of another version is marked `older`.
    """
    form = settings.get("ask", "cloze") + "+paraphrases" * bool(settings.get("paraphrases"))
    way = {"always": "chat", "never": "plain"}.get(settings.get("chat", ""), "auto")
    scoring = measure
    if measure == "p":
        samples, length = settings.get("samples", "?"), settings.get("max_new_tokens", "?")
        scoring += f":{samples}x{length}@{settings.get('temperature', 1.0):g}"
    version = f"v{_PROTOCOLS[cast(Measure, measure)]}"
    if digest is not None:
        known = {name: settings[name] for name in _FIELDS if name in settings}
        made = ProbeSettings(**known | {"measures": tuple(known.get("measures", MEASURES))})
        version = version if made.digest == digest else "older"
    return f"{form}/{way}/{scoring}/{version}"


@dataclass(frozen=True, slots=True)
class ProbeItem:
    """One fact to probe.

    Attributes:
        id: id of the result; names the fact in errors.
        prompt: the cloze with its subject filled in; the object follows it.
        object: the right answer; `aliases` are right as well.
        longer: names of other entities that contain one of these (`editing.probe.longer`).
        question: required for `ask="question"`.
        paraphrases: additional filled clozes.
        separate: probe the paraphrases regardless of the settings, and exclude them from the mean
            (for the edited fact, whose paraphrases measure generalization).
    """

    id: str
    prompt: str
    object: str
    question: str | None = None
    paraphrases: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    separate: bool = False
    longer: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Probe result of one fact. A measure that was not requested is None.

    Attributes:
        p: sampled proportion of right answers among the decided ones, in [0, 1]; None too where
            every answer is undecided.
        likelihood: probability that the answer begins with the object or an alias, in [0, 1].
        likelihood_norm: length-normalised probability of the best alias, in [0, 1].
        n_samples: number of decided answers, of which `p` is the proportion: at most k per averaged
            text. The others of `answers` are undecided.
        answers: those answers as scored (first sentence), prompt first, then the paraphrases.
        paraphrases: for each measure the value of each paraphrase, if they were probed and each
            has one.
    """

    id: str
    p: float | None
    likelihood: float | None
    likelihood_norm: float | None
    n_samples: int = 0
    answers: tuple[str, ...] = ()
    paraphrases: dict[str, list[float]] = field(default_factory=dict)


def _require(holds: bool, name: str, value: object, allowed: str) -> None:
    if not holds:
        raise ProbeError(
            f"the probe setting {name} is {value!r}", remedy=f"{name} must be {allowed}."
        )
