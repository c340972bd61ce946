"""Score requests and their digests, and the request that scores a stored edit again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import yaml
from pydantic.fields import FieldInfo

from ...loaders.records import RewriteRequest, digest, slug
from .. import NUMBERS_VERSION
from ..base.errors import UsageError
from ..graphs.datasets import OWN
from ..models.edit import MEASURES, EditIn, EditOptions, Measure, MeasuredOptions, Score
from ..models.options import option_of
from .runtime import as_option

if TYPE_CHECKING:
    from ...editing.deltas import EditEffect
    from ...editing.probe import ProbeSettings
    from .probe import Question


EXACT: tuple[Measure, ...] = ("likelihood", "likelihood_norm")
"""The measures that need no samples."""


class ScoreRequest(EditOptions):
    """One edit to score: the options of `EditIn`, and its rewrite as the graph has it.

    Built by `of`, which does not apply the limits of the service (`EditIn` does): a command may
    name files and ask for more samples.
    """

    rewrite: RewriteRequest

    @classmethod
    def of(
        cls, rewrite: RewriteRequest, options: EditOptions | None = None, **changes: Any
    ) -> ScoreRequest:
        """The request for a rewrite with these options.

        Args:
            options: of a submitted edit, a command or a sweep; None: the defaults.
            changes: fields that replace those of `options`.

        Raises:
            TypeError: an option that `EditOptions` does not have.
        """
        unknown = changes.keys() - EditOptions.model_fields.keys()
        if unknown:
            raise TypeError(f"not options of an edit: {', '.join(sorted(unknown))}")
        values = (
            {name: getattr(options, name) for name in EditOptions.model_fields} if options else {}
        )
        return cls.model_construct(**values | changes, rewrite=rewrite)

    @property
    def probe(self) -> ProbeSettings:
        """The settings by which facts are probed before and after the edit."""
        return probe_settings(self, self.seed)


def probe_settings(options: MeasuredOptions, seed: int) -> ProbeSettings:
    """The settings of a probe; without samples only the exact measures are taken."""
    from ...editing.probe.settings import ProbeSettings

    return ProbeSettings(
        samples=max(options.samples, 1),
        ask=options.ask,
        measures=MEASURES if options.samples else EXACT,
        max_new_tokens=options.max_new_tokens,
        seed=seed,
        paraphrases=options.paraphrases,
        chat=options.chat,
    )


@dataclass(frozen=True, slots=True)
class SequenceStep:
    """An edit that is scored as a part of a sequence (`service.scoring.sweep`).

    Attributes:
        requests: all rewrites edited so far, in order.
        batch: how many were edited together.
        when: `after` this rewrite's batch, or at the `end` of the whole sequence.
        effect: the sequence's update so far, as a whole; called when the score is not stored.
        further: questions beside the facts in scope, with roles that no chain passes.
    """

    requests: tuple[RewriteRequest, ...]
    batch: int
    when: Literal["after", "end"]
    effect: Callable[[], EditEffect]
    further: tuple[Question, ...] = ()

    @property
    def identity(self) -> dict[str, object]:
        """The values that differ from the same rewrite edited alone or elsewhere in a sequence."""
        identity: dict[str, object] = {
            "requests": [r.identity for r in self.requests],
            "batch": self.batch,
        }
        if self.further:
            identity["further"] = sorted((q.role, q.fact.id) for q in self.further)
        return identity

    @property
    def about(self) -> dict[str, object]:
        """For the record."""
        ids = [r.id for r in self.requests]
        return {"when": self.when, "edited": len(ids), "batch": self.batch, "requests": ids}


def body_digest(edit: EditIn, rewrite: RewriteRequest) -> str:
    """Digest of a submitted edit, its rewrite written out."""
    return digest(edit.digested() | {"rewrite": rewrite.identity}, 16)


def posted_id(edit: EditIn, rewrite: RewriteRequest, content: str) -> str:
    """The id of a submitted edit until its model is loaded: the same for the same request.

    It depends on the graph's content and on our version too, so that it never finds the score of
    another data set of the same name.

    Args:
        content: the digest of the graph's content.
    """
    about = [body_digest(edit, rewrite), content, NUMBERS_VERSION]
    return f"{slug(edit.method)}-{slug(rewrite.subject)[:32]}-{digest(about, 10)}"


def read_overrides(texts: Sequence[str]) -> dict[str, object]:
    """The hyperparameters of `key=value` texts, their values read as YAML.

    Raises:
        UsageError: a text is not of that form.
    """
    return dict(_override(text) for text in texts)


def method_override(text: str) -> tuple[str, str, object]:
    """(method, key, value) of `METHOD.key=value`.

    Raises:
        UsageError: not of that form.
        UnknownMethodError: no such method.
    """
    from ...editing import registry

    key, value = _override(text)
    name, dot, key = key.partition(".")
    if not dot or not key:
        raise UsageError(
            f"--set {text!r} names no method.", remedy="For example --set memit.v_lr=0.5."
        )
    return registry.info(name).name, key, value


def _override(text: str) -> tuple[str, object]:
    key, sep, value = text.partition("=")
    if not sep or not key:
        raise UsageError(f"--set {text!r} is not key=value.", remedy="For example --set v_lr=0.5.")
    try:
        return key.strip(), yaml.safe_load(value)
    # ValueError: a date or number out of range; RecursionError: deep nesting.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        shown = text if len(text) <= 100 else f"{text[:100]}…"
        raise UsageError(
            f"The value of --set {shown!r} cannot be read.",
            remedy="Write it as YAML: 0.5, true, [3, 4], 'a text'.",
        ) from error


def posted(score: Score) -> dict[str, Any]:
    """Return the request body that scores this edit again; default options are left out."""
    rewrite: Any = score.rewrite
    if score.rewrite.startswith(OWN):
        rewrite = {
            "subject": score.subject,
            "prompt": score.prompt,
            "relation": score.relation,
            "target_true": score.target_true,
        }
        if score.target_new:
            rewrite["target_new"] = score.target_new
    wanted = {
        "graph": score.dataset,
        "rewrite": rewrite,
        "model": _given_model(score),
        "method": score.method,
    }
    return wanted | {
        name: value
        for name, field in EditOptions.model_fields.items()
        if (value := _recorded(score, name, field)) is not None
        and value != field.get_default(call_default_factory=True)
    }


def _given_model(score: Score) -> str:
    """The model as `--model` takes it: a folder's name alone would not find it."""
    named = as_option(score.model)
    if named != score.model:
        return named
    return str(score.provenance.get("model", {}).get("given", named))


def is_of(score: Score, request: ScoreRequest, model: str) -> bool:
    """Return True if a stored score has the options of a request, as far as its record has them.

    Args:
        model: name of the request's model in scores.
    """
    same = (score.dataset, score.rewrite, score.model, score.method)
    if same != (request.graph, request.rewrite.id, model, request.method):
        return False
    settled = {"chat"} if request.chat == "auto" else set()
    return all(
        (value := _recorded(score, name, field)) is None or value == getattr(request, name)
        for name, field in EditOptions.model_fields.items()
        if name not in settled
    )


def _recorded(score: Score, name: str, field: FieldInfo) -> Any:
    """The value that an edit was scored with; None where its record does not have it."""
    path = option_of(field).recorded
    if path is None:
        return None
    probe = score.provenance.get("probe", {})
    if name == "samples" and "p" not in probe.get("measures", ()):
        return 0
    value: Any = score.provenance | {"options": score.options.model_dump()}
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return bool(value) if field.annotation is bool else value
