"""An estimate of what edits cost before they are scored: operations, time and memory.

A model is described by its configuration: no weights are read, and none need be there. Each method
is run on the model's shapes (`editing.shapes`), once for its hyperparameters, with the rewrite that
has the longest prompt. Of the other stages a part is run in the same way, and multiplied. Time is
computed from the speed of this machine's device.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...loaders.records import digest, fill
from ..forms.registry import ALL, chosen
from ..graphs import datasets
from ..models.edit import Score
from . import battery
from . import record as editrecords
from .chat import SAMPLE
from .damage import LENGTH as LENGTH_READ
from .damage import STEP
from .forget import with_refusal_target
from .hyperparameters import any_tuned
from .method_inputs import OWN_SAMPLES, SENTENCES
from .probe import Question, item_of
from .request import EXACT, ScoreRequest, is_of
from .resolved import LIMIT, facts_in_scope, hyperparameters
from .runtime import Runtime, parse

if TYPE_CHECKING:
    from ...editing.models import LoadedModel
    from ...editing.probe.settings import Measure
    from ...editing.shapes import Cost
    from ...editing.size import Size, Speed
    from ...loaders.records import KnowledgeGraph

CHARACTERS = 4
"""Characters of a token where the model's tokenizer is missing."""
FORMS_COST = 19
"""The default forms cost so many times the cloze's tokens (docs/concepts/forms.md)."""
FACTS, TOKENS = 64, 8
"""Facts that are asked on shapes, and tokens that a text or an answer is sampled there."""


@dataclass(frozen=True, slots=True)
class Work:
    """A part of a run.

    Attributes:
        times: how often it is done.
        tokens: that are read.
        flops: operations of matrix products by number type; of `eigh` and `lu` in float64.
        kernels: operations that are started on the device.
        copied: bytes that are copied from and to the device.
    """

    what: str
    times: int
    tokens: int = 0
    flops: Mapping[str, float] = field(default_factory=dict)
    kernels: int = 0
    copied: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Memory:
    """A part of the peak memory.

    Attributes:
        place: `cpu`, or the type of the model's device.
        stays: False of what is freed before the next part is needed: only the largest counts.
        parts: bytes by the module that allocates them, where that is known.
    """

    what: str
    place: str
    bytes: int
    stays: bool = True
    parts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimate for one model.

    Attributes:
        edits: that are requested, and how many of them are `stored`.
        reason: why nothing else is known; None where it is.
        notes: what the numbers leave out or assume.
    """

    model: str
    edits: int
    stored: int = 0
    reason: str | None = None
    dtype: str = ""
    device: str = ""
    parameters: int = 0
    weights: int = 0
    speed: Mapping[str, float] = field(default_factory=dict)
    work: Sequence[Work] = ()
    memory: Sequence[Memory] = ()
    notes: Sequence[str] = ()

    @property
    def tokens(self) -> int:
        """Tokens that are read in all."""
        return sum(each.tokens for each in self.work)

    @property
    def flops(self) -> float:
        """Matrix products and linear algebra, of all number types."""
        return sum(sum(each.flops.values()) for each in self.work)

    @property
    def seconds(self) -> float:
        """Time of the known work."""
        return sum(each.seconds for each in self.work)

    @property
    def peaks(self) -> dict[str, int]:
        """Bytes by place: all that stays, and the largest of the rest."""
        found: dict[str, int] = {}
        for place in dict.fromkeys(each.place for each in self.memory):
            here = [each for each in self.memory if each.place == place]
            passing = max((each.bytes for each in here if not each.stays), default=0)
            found[place] = sum(each.bytes for each in here if each.stays) + passing
        return found

    def as_dict(self) -> dict[str, Any]:
        """The fields, and the sums, for JSON."""
        sums = ("tokens", "flops", "seconds", "peaks")
        return asdict(self) | {name: getattr(self, name) for name in sums}


def estimates(runtime: Runtime, requests: Sequence[ScoreRequest]) -> list[Estimate]:
    """The estimate of each model of some requests; nothing is loaded or computed.

    Raises:
        EditingError, UsageError: what the run itself would refuse before it loads a model.
    """
    groups: dict[tuple[str, ...], list[ScoreRequest]] = {}
    for request in requests:
        key = (request.model, request.dtype, f"{request.revision}")
        groups.setdefault(key, []).append(request)
    found: list[Estimate] = []
    for group in groups.values():
        found.append(_estimate(runtime, group, sum(each.weights for each in found)))
    return found


def _estimate(runtime: Runtime, requests: Sequence[ScoreRequest], others: int) -> Estimate:
    """The estimate of one model; the weights of `others` stay in memory."""
    import psutil

    from ...editing import models, shapes
    from ...editing.errors import ModelLoadError
    from ...editing.size import size_of, speed_of

    first = requests[0]
    spec = parse(first.model, seed=first.organism_seed)
    by: dict[str, Any] = {}
    for request in requests:
        key = _hparams_key(request)
        by[key] = by[key] if key in by else hyperparameters(runtime, request).values
    chosen = [by[_hparams_key(request)] for request in requests]
    scores = _scores(runtime, first.graph, spec.name)
    left = _not_stored(runtime, requests, chosen, spec.name, scores)
    stored = len(requests) - len(left)
    if spec.organism is not None:
        reason = "an organism has about a million weights and is trained first: minutes on a CPU"
        return Estimate(spec.name, len(requests), stored, reason)
    source = runtime.source_of(first) or spec.text
    program = psutil.Process().memory_info().rss
    size = size_of(source, revision=first.revision, dtype=first.dtype)
    device = models.resolve_device(runtime.settings.device)
    notes = []
    if not models.has_weights(source, revision=first.revision):
        notes.append("The weights are missing here: a hub's are fetched first, a folder's refused.")
    try:
        tokenizer = models.tokenizer_of(source, revision=first.revision)
    except ModelLoadError as error:
        tokenizer = shapes.characters(CHARACTERS, size.vocabulary)
        notes.append(f"Tokens are characters / {CHARACTERS}: {error.detail}.")
    with shapes.on_shapes(size.skeleton):
        loaded = models.wrap(size.skeleton, tokenizer, name=spec.name)
    speed = speed_of(size, device)
    seeds = {each.seed for each, _ in left} - {each.provenance.get("seed") for each in scores}
    plan = _Plan(runtime, left, loaded, size, speed, device, program, not scores, seeds)
    work = [each for each in plan.work() if each.times]
    return Estimate(
        model=spec.name,
        edits=len(requests),
        stored=stored,
        dtype=first.dtype,
        device=str(device),
        parameters=size.n_parameters,
        weights=size.weights,
        speed=asdict(speed),
        work=work,
        memory=tuple(plan.memory(others)) if work else (),
        notes=[*notes, *plan.notes()],
    )


def _scores(runtime: Runtime, graph: str, model: str) -> list[Score]:
    """The stored scores of a model's edits on a graph."""
    return [
        score
        for row in editrecords.list_edits(runtime.db, graph)
        if row.status == "succeeded" and row.model == model
        if (score := editrecords.readable(row.score))
    ]


def _not_stored(
    runtime: Runtime,
    requests: Sequence[ScoreRequest],
    chosen: Sequence[Any],
    model: str,
    scores: Sequence[Score],
) -> list[tuple[ScoreRequest, Any]]:
    """The requests without a stored score of their options, each with its hyperparameters."""

    def is_stored(request: ScoreRequest, values: Any) -> bool:
        own = digest(values.as_dict())
        tuned = any_tuned(runtime.settings, request.method)
        return not request.force and any(
            not score.sequence
            and is_of(score, request, model)
            and (tuned or score.provenance.get("hparams_digest") == own)
            for score in scores
        )

    pairs = zip(requests, chosen, strict=True)
    return [(request, values) for request, values in pairs if not is_stored(request, values)]


@dataclass
class _Plan:
    """The requests of one model that are not stored, with all that their cost depends on.

    Attributes:
        loaded: the model on shapes.
        program: bytes of the process without a model.
        fresh: True if no edit of this model is stored: its shared inputs are not, either.
        seeds: those with which no edit is stored: the answers before an edit are kept by them.
        unknown: what is not estimated.
        peaks: the stages that are done, by name, each with the run on shapes that takes the most.
    """

    runtime: Runtime
    requests: Sequence[tuple[ScoreRequest, Any]]
    loaded: LoadedModel
    size: Size
    speed: Speed
    device: Any
    program: int
    fresh: bool
    seeds: Collection[int]
    unknown: dict[str, None] = field(default_factory=dict)
    peaks: dict[str, Cost] = field(default_factory=dict)

    def work(self) -> Iterator[Work]:
        """The parts of the run: what edits share, then the edits."""
        if not self.requests:
            return
        request = self.requests[0][0]
        if self.fresh:
            yield from self._shared(request)
        n = len(self.seeds)
        yield self._facts("facts before an edit", n, n * self._before())
        yield from self._updates()
        changed = [each for each, _ in self.requests if each.method != "none"]
        asked = sum(map(self._asked, changed))
        yield self._facts("facts after the edit", len(changed), asked)
        if request.side_effects:
            yield self._texts("texts after the edit", len(changed), after=True)
        # In forms, facts are asked once a rewrite, and after each edit.
        with_forms = [each for each, _ in self.requests if each.forms]
        rewrites = {digest(_named(each)): each for each in with_forms}
        asked_in = [*rewrites.values(), *(each for each in with_forms if each in changed)]
        facts = sum(map(self._in_forms, asked_in))
        yield self._facts("forms of asking", len(asked_in), round(facts))

    def _in_forms(self, request: ScoreRequest) -> float:
        """Facts that take as much time, asked once, as those of a request in forms."""
        whole = request.forms_scope == "graph"
        facts = len(self._graph.facts) if whole else 1 + 2 * battery.FACTS
        fraction = len(chosen([request.forms or ""])) / len(chosen([ALL]))
        return facts * FORMS_COST * fraction

    def _shared(self, request: ScoreRequest) -> Iterator[Work]:
        """List the work that is done once for a model and a graph."""
        from ...editing import covariance, registry
        from ...editing.probe import own_samples

        model, tokenizer = self.loaded.model, self.loaded.tokenizer
        organism = getattr(model.config, "thinkeval_organism", None)
        default = SENTENCES if organism else OWN_SAMPLES
        needed = [
            (
                each.covariance or default,
                registry.covariance_layers(registry.get(each.method), values),
            )
            for each, values in self.requests
        ]
        corpora = {corpus for corpus, layers in needed if layers}
        layers = sorted({layer for _, each in needed for layer in each})
        own = corpora == {OWN_SAMPLES}
        blocks = own_samples.blocks_for(self.loaded, self.size.key) if own else 1
        tokens = own_samples.TEXTS * own_samples.length_of(self.loaded, own_samples.LENGTH)
        if request.side_effects or OWN_SAMPLES in corpora:
            yield self._stage(
                "sampling the model's own texts",
                lambda: own_samples.sample(self.loaded, length=TOKENS),
                blocks * tokens / TOKENS / own_samples.TEXTS,
            )
        if request.chat == "auto" and getattr(tokenizer, "chat_template", None):
            # The template's own text is about as long as twice a prompt.
            yield self._facts("chat or plain text", 1, 4 * SAMPLE)
        if layers and own:
            texts = [" ".join([next(iter(tokenizer.get_vocab()))] * own_samples.LENGTH)] * FACTS
            options = {"max_length": own_samples.LENGTH}
            yield self._stage(
                "covariance",
                lambda: covariance.collect(model, tokenizer, texts, layers, **options),
                blocks * own_samples.TEXTS / FACTS,
            )
        elif layers:
            self.unknown["the covariance, whose texts are not read here"] = None
        if request.side_effects:
            yield self._texts("texts before an edit", 1)

    @cached_property
    def _graph(self) -> KnowledgeGraph:
        dataset = datasets.get_or_import(self.runtime.db, self.requests[0][0].graph)
        return self.runtime.content_of(dataset)

    def _before(self) -> int:
        """Facts that are asked before any edit."""
        n, request = len(self._graph.facts), self.requests[0][0]
        if n <= self.runtime.settings.probe_all_limit:
            return n
        scopes = {each.rewrite.id: self._scope(each) for each, _ in self.requests}
        return sum(scopes.values()) + request.drift_facts * request.side_effects

    def _scope(self, request: ScoreRequest) -> int:
        key = ("scope", request.graph, request.rewrite.id, f"{request.max_steps}")
        scope = self.runtime.memoised(key, lambda: facts_in_scope(self.runtime.db, request))
        return len(scope.facts)

    def _asked(self, request: ScoreRequest) -> int:
        """Facts that an edited model is asked for: those on chains, and known ones at most."""
        own = 2 * (1 + len(request.rewrite.paraphrases) + LIMIT)
        further = request.drift_facts * request.side_effects
        return own + min(len(self._graph.facts), self._scope(request) + further)

    def _facts(self, what: str, times: int, n: int) -> Work:
        """Ask `n` facts in all by likelihood, and by samples where the first request has some."""
        request, facts = self.requests[0][0], self._graph.facts[:FACTS]
        found = self._stage(what, lambda: self._probe(facts, EXACT), n / len(facts), times)
        if not request.samples:
            return found
        # Upper bound: an answer ends earlier where the model ends it.
        length = n / len(facts) * max(1.0, request.max_new_tokens / TOKENS)
        sampled = self._stage(what, lambda: self._probe(facts, ("p",)), length, times)
        return _sum(found, sampled)

    def _probe(self, facts: Sequence[Any], measures: tuple[Measure, ...]) -> None:
        """Ask some facts, plainly unless a chat is asked for, with few tokens of an answer."""
        from ...editing.probe import probe
        from ...editing.probe.batching import room_for

        settings = self.requests[0][0].probe
        settings = replace(
            settings,
            measures=measures,
            chat="never" if settings.chat == "auto" else settings.chat,
            max_new_tokens=min(TOKENS, settings.max_new_tokens),
            batch_tokens=room_for(self.loaded.model, device=self.device).tokens,
        )
        names = {each.name: each.aliases for each in self._graph.entities}
        items = [item_of(f.id, Question(f, names.get(f.object, ()))) for f in facts]
        probe(self.loaded, items, settings)

    def _texts(self, what: str, times: int, *, after: bool = False) -> Work:
        """Read the beginnings of the model's own texts; after an edit, compare the predictions."""
        from ...editing.deltas import EditEffect
        from ...editing.probe import own_samples

        start = tuple(own_samples.start_of(self.loaded.tokenizer))
        texts = own_samples.OwnSamples(start, ((0,) * LENGTH_READ,) * STEP)

        def read() -> None:
            before = own_samples.hidden(self.loaded, texts)
            if after:
                own_samples.changes(self.loaded, EditEffect({}), texts, before)

        return self._stage(what, read, times, times)

    def _stage(
        self, what: str, run: Callable[[], object], factor: float = 1.0, times: int = 1
    ) -> Work:
        """Run a part of a stage on shapes, and multiply it."""
        from ...editing import shapes

        if not times:
            return Work(what, 0)
        with shapes.on_shapes(self.loaded.model) as cost:
            run()
        return self._work(what, cost, factor, times)

    def _work(self, what: str, cost: Cost, factor: float, times: int) -> Work:
        if what not in self.peaks or self.peaks[what].peak < cost.peak:
            self.peaks[what] = cost
        return Work(
            what,
            times,
            round(factor * cost.tokens),
            {kind: factor * flops for kind, flops in cost.flops.items()},
            round(factor * sum(cost.kernels.values())),
            round(factor * cost.copied),
            factor * cost.seconds(self.speed),
        )

    def _updates(self) -> Iterator[Work]:
        """Run each method on shapes, once for its hyperparameters."""
        from ...editing import registry, shapes

        groups: dict[str, dict[str, tuple[ScoreRequest, Any]]] = {}
        for each, values in self.requests:
            if each.method != "none":
                # At another strength, the update is only scaled.
                group = groups.setdefault(digest([each.method, values.as_dict()]), {})
                group.setdefault(digest(_named(each)), (each, values))
        retain = [(fill(fact.prompt, fact.subject), fact.object) for fact in self._graph.facts]
        for group in groups.values():
            request, values = max(group.values(), key=lambda one: len(one[0].rewrite.filled_prompt))
            what, method = f"update of {request.method}", registry.get(request.method)
            if method.KIND == "prompt":
                continue
            try:
                cost = shapes.edit(
                    method,
                    self.loaded.model,
                    self.loaded.tokenizer,
                    with_refusal_target(request.rewrite, request),
                    values,
                    retain[: getattr(values, "retain_limit", 0)],
                )
            except Exception as error:  # a method of another package may raise any
                self.unknown[f"the {what}, which cannot be run on shapes ({error})"] = None
                continue
            yield self._work(what, cost, len(group), len(group))

    def memory(self, others: int) -> Iterator[Memory]:
        """The parts of the peak memory; weights of `others` are in memory too."""
        size, here = self.size, self.device.type
        yield Memory("the program", "cpu", self.program)
        yield Memory("weights", here, size.weights)
        if others:
            yield Memory("weights of the models before", here, others)
        for what, cost in self.peaks.items():
            parts = {name: n for name, n in cost.parts.items() if name != "weights"}
            yield Memory(what, here, sum(parts.values()), stays=False, parts=parts)
            if cost.host:
                yield Memory(what, "cpu", cost.host, stays=False)

    def notes(self) -> Iterator[str]:
        """List the assumptions of the numbers, and the work that they leave out."""
        yield (
            "About: optimisations take all their steps, and every fact of the graph counts as"
            " known. Loading and fetching the model, and the database, are not in it."
        )
        if any(request.side_effects for request, _ in self.requests):
            yield (
                f"An edit is measured on {STEP} texts of the model's own; one that does damage, on"
                " up to four times as many."
            )
        if self.device.type != "cpu":
            yield "Times were checked against runs on a CPU; on other devices they were not."
        if self.requests and self.requests[0][0].chat == "auto" and (
            getattr(self.loaded.tokenizer, "chat_template", None)
        ):  # fmt: skip
            yield "Plain prompts: if the model knows more in its chat template, prompts are longer."
        if any(request.forms for request, _ in self.requests):
            yield (
                f"Forms: {1 + 2 * battery.FACTS} facts an edit at most, at {FORMS_COST} times the"
                " cloze's tokens for `all`; written answers take more time than their tokens say."
            )
        options = ("generate", "conversation", "implications", "tasks")
        asked = [name for name in options if any(getattr(r, name) for r, _ in self.requests)]
        for what in [*self.unknown, *(f"--{name}" for name in asked)]:
            yield f"Not in it: {what}."


def _hparams_key(request: ScoreRequest) -> str:
    return f"{request.method} {request.hparams} {request.overrides}"


def _named(request: ScoreRequest) -> list[object]:
    return [request.rewrite.identity, request.seed]


def _sum(first: Work, second: Work) -> Work:
    """Two parts of a stage as one."""
    flops = {
        kind: first.flops.get(kind, 0.0) + second.flops.get(kind, 0.0)
        for kind in (*first.flops, *second.flops)
    }
    counts = ("tokens", "kernels", "copied", "seconds")
    total = {name: getattr(first, name) + getattr(second, name) for name in counts}
    return replace(first, flops=flops, **total)
