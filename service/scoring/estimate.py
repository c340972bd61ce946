"""An estimate of what edits cost before they are scored: tokens, FLOPs, time and memory.

A model is described by its configuration: no weights are read, and none need be there. Time is
computed from the speed of this machine's device, measured on products of the model's shapes. Counts
are upper bounds where only a run can say (steps of an optimisation, facts that a model knows).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any

from ...editing.hparams.common import ValueHyperParams
from ...loaders.records import SUBJECT_SLOT, digest, fill
from ..forms.registry import ALL, chosen
from ..graphs import datasets
from ..models.edit import Score
from . import battery
from . import record as editrecords
from .chat import SAMPLE
from .damage import LENGTH as LENGTH_READ
from .damage import STEP
from .hyperparameters import any_tuned
from .method_inputs import OWN_SAMPLES, SENTENCES
from .request import ScoreRequest, is_of
from .resolved import LIMIT, facts_in_scope, hyperparameters
from .runtime import Runtime, parse

if TYPE_CHECKING:
    from ...editing.probe.batching import Room
    from ...editing.size import Size, Speed
    from ...loaders.records import KnowledgeGraph

CHARACTERS = 4
"""Characters of a token where the model's tokenizer is missing."""
LOSS = 2.0
"""Time of a pass over that of its products with weights: attention, norms, small tensors, Python.
Measured on SmolLM2-135M on a CPU: 1.4 to 2.8 by the kind of work (docs/how-to/large-model.md)."""
LOGITS = 3
"""Vectors of the vocabulary's size, in float32, that a position with a gradient holds."""
LU, EIGENVALUES = 2 / 3, 9.0
"""FLOPs of a covariance's factors and of its eigenvectors, as multiples of its width cubed."""
FORMS_COST = 19
"""The default forms cost so many times the cloze's tokens (docs/concepts/forms.md)."""
NUMBER = 4
"""Bytes of a number in float32, in which logits, covariances and updates are."""


@dataclass(frozen=True, slots=True)
class Work:
    """A part of a run.

    Attributes:
        times: how often it is done.
        passes: forward passes of the whole model in all, and `tokens` that they read.
        flops: of all products with weights.
        wide: of these, in float64.
        reason: why a part of it is not known; None where all is.
    """

    what: str
    times: int
    passes: float = 0.0
    tokens: int = 0
    flops: float = 0.0
    wide: float = 0.0
    seconds: float = 0.0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """A part of the peak memory.

    Attributes:
        place: `cpu`, or the type of the model's device.
        stays: False of what is freed before the next part is needed: only the largest counts.
    """

    what: str
    place: str
    bytes: int
    stays: bool = True


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
        """Products with weights, and linear algebra."""
        return sum(each.flops + each.wide for each in self.work)

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

    from ...editing import models
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
        tokenizer = None
        notes.append(f"Tokens are characters / {CHARACTERS}: {error.detail}.")
    speed = speed_of(size, device)
    seeds = {each.seed for each, _ in left} - {each.provenance.get("seed") for each in scores}
    plan = _Plan(runtime, left, tokenizer, size, speed, device, program, not scores, seeds)
    work = [each for each in plan.work() if each.times]
    return Estimate(
        model=spec.name,
        edits=len(requests),
        stored=stored,
        dtype=first.dtype,
        device=str(device),
        parameters=size.n_parameters,
        weights=size.weights,
        speed={"flops": speed.flops, "reading": speed.reading, "wide": speed.wide},
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
        program: bytes of the process without a model.
        fresh: True if no edit of this model is stored: its shared inputs are not, either.
        seeds: those with which no edit is stored: the answers before an edit are kept by them.
        unknown: methods whose own computation has no formula here.
    """

    runtime: Runtime
    requests: Sequence[tuple[ScoreRequest, Any]]
    tokenizer: Any
    size: Size
    speed: Speed
    device: Any
    program: int
    fresh: bool
    seeds: Collection[int]
    unknown: dict[str, None] = field(default_factory=dict)

    def work(self) -> Iterator[Work]:
        """The parts of the run: what edits share, then the edits."""
        if not self.requests:
            return
        request = self.requests[0][0]
        if self.fresh:
            yield from self._shared(request)
        before = [self._facts(request, self._before()) for _ in self.seeds]
        yield _sum("facts before an edit", before, len(before))
        updates: dict[str, list[Work]] = {}
        made: set[str] = set()
        for each, values in self.requests:
            key = digest([_named(each), each.method, values.as_dict()])
            if key not in made:  # at another strength, the update is only scaled
                made.add(key)
                updates.setdefault(each.method, []).append(self._update(each, values, made))
        for method, found in updates.items():
            yield _sum(f"update of {method}", found, len(found))
        changed = [each for each, _ in self.requests if each.method != "none"]
        after = [self._facts(each, self._asked(each)) for each in changed]
        yield _sum("facts after the edit", after, len(after))
        if request.side_effects:
            yield self._texts("texts after the edit", len(after), sides=2)
        yield from self._forms()

    def _forms(self) -> Iterator[Work]:
        """Count the facts that are asked in forms: once a rewrite, and after each edit."""
        with_forms = [each for each, _ in self.requests if each.forms]
        if not with_forms:
            return
        changed = [each for each in with_forms if each.method != "none"]
        rewrites = {digest(_named(each)): each for each in with_forms}
        asked = [*rewrites.values(), *changed]
        default = chosen([ALL])
        parts = []
        for each in asked:
            facts = 1 + 2 * battery.FACTS
            if each.forms_scope == "graph":
                facts = len(self._graph.facts)
            fraction = len(chosen([each.forms or ""])) / len(default)
            parts.append(self._facts(each, round(facts * FORMS_COST * fraction)))
        yield _sum("forms of asking", parts, len(asked))

    def _shared(self, request: ScoreRequest) -> Iterator[Work]:
        """List the work that is done once for a model and a graph."""
        from ...editing.probe.own_samples import LENGTH, TEXTS

        organism = getattr(self.size.skeleton.config, "thinkeval_organism", None)
        default = SENTENCES if organism else OWN_SAMPLES
        needed = [
            (each.covariance or default, _covariances(*_carried_out(each, values)))
            for each, values in self.requests
        ]
        corpora = {corpus for corpus, layers in needed if layers}
        layers = {layer for _, each in needed for layer in each}
        if request.side_effects or OWN_SAMPLES in corpora:
            yield self._cost("sampling the model's own texts", TEXTS * LENGTH,
                             TEXTS * LENGTH, passes=LENGTH)  # fmt: skip
        if request.chat == "auto" and getattr(self.tokenizer, "chat_template", None):
            # The template's own text is about as long as twice a prompt.
            yield self._facts(request, 4 * SAMPLE, what="chat or plain text")
        if layers and corpora == {OWN_SAMPLES}:
            tokens = TEXTS * LENGTH
            part = (max(layers) + 1) / self.size.n_layers
            products = 2.0 * tokens * self.size.key**2 * len(layers)
            yield self._cost("covariance", tokens, 0, passes=2, forward=part, more=products)
        elif layers:
            self.unknown["the covariance, whose texts are not read here"] = None
        if request.side_effects:
            yield self._texts("texts before an edit", 1, sides=0)

    @cached_property
    def _graph(self) -> KnowledgeGraph:
        dataset = datasets.get_or_import(self.runtime.db, self.requests[0][0].graph)
        return self.runtime.content_of(dataset)

    @cached_property
    def _per_fact(self) -> tuple[float, float, float, float]:
        """Mean tokens of a fact's prompt, of its names, positions that are read, and padding.

        Padding is the tokens of batches as a multiple of those of their rows.
        """
        from ...editing.probe.batching import padded

        facts, names = self._graph.facts, {e.name: e.aliases for e in self._graph.entities}
        prompts = [self._count(fill(fact.prompt, fact.subject)) for fact in facts]
        answers = [
            [self._count(name) for name in (fact.object, *names.get(fact.object, ()))]
            for fact in facts
        ]
        n = max(1, len(facts))
        flat = [length for each in answers for length in each]
        costs = [
            self._room.cost(prompt + answer, answer + 1)
            for prompt, each in zip(prompts, answers, strict=True)
            for answer in each
        ]
        read = (sum(flat) + len(facts) - len(flat)) / n
        padding = padded(costs, self._room.tokens) / max(1, sum(costs))
        return sum(prompts) / n, sum(flat) / n, read, padding

    def _count(self, text: str) -> int:
        if self.tokenizer is None:
            return -(-len(text) // CHARACTERS)
        return len(self.tokenizer(text, add_special_tokens=False)["input_ids"])

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

    def _facts(self, request: ScoreRequest, n: int, what: str = "") -> Work:
        """Ask `n` facts by likelihood, and by samples where the request has some."""
        prompt, names, read, padding = self._per_fact
        tokens, positions = n * padding * (prompt + names), n * padding * read
        passes = 2.0 * -(-int(tokens) // self._room.tokens)
        if request.samples:
            # Upper bound: an answer ends earlier where the model ends it.
            drawn = n * request.samples * request.max_new_tokens
            tokens, positions = tokens + drawn, positions + drawn
            passes *= 1 + request.max_new_tokens / 2
        return self._cost(what, int(tokens), int(positions), passes=passes)

    def _texts(self, what: str, times: int, sides: int) -> Work:
        """Read the beginnings of the model's own texts; `sides` models' logits are computed."""
        tokens = times * STEP * LENGTH_READ
        return self._cost(what, tokens, sides * tokens, passes=times, times=times)

    def _update(self, request: ScoreRequest, values: Any, made: set[str]) -> Work:
        """Find the update of one edit."""
        method, values = _carried_out(request, values)
        steps = self._steps(request, values)
        if steps is None:
            return Work("", 1)
        parts = [
            self._cost("", steps.n * steps.tokens, steps.n * steps.positions, passes=steps.n,
                       forward=steps.forward, backward=steps.backward)
        ]  # fmt: skip
        if isinstance(values, ValueHyperParams):
            key = digest([values.target_key(method.TARGET_SITE), _named(request)])
            if key in made:
                parts = []
            else:
                made.add(key)
                parts += self._contexts(values, steps)
            parts.append(self._solve(method, values, steps))
        return _sum("", parts)

    def _steps(self, request: ScoreRequest, values: Any) -> _Steps | None:
        """The steps of a method's optimisation; None where it has none that is known."""
        rewrite, n_layers = request.rewrite, self.size.n_layers
        method, values = _carried_out(request, values)
        target = self._count(rewrite.target_new or request.refusal)
        whole = self._count(fill(rewrite.prompt, rewrite.subject)) + target
        if isinstance(values, ValueHyperParams):
            first = values.layers[-1] + (method.TARGET_SITE != "mlp")
            after = self._count(rewrite.prompt.split(SUBJECT_SLOT)[-1]) + target
            contexts, longest = _contexts_of(values)
            above = 1 - first / n_layers
            n = values.v_num_grad_steps
            if values.v_step is not None and values.v_stop_probability is not None:
                n = min(n, ceil(1 / values.v_step))  # straight steps that reach the clamp
            return _Steps(
                n, contexts + 1, after, longest + whole,
                contexts * target + 1, above, above,
            )  # fmt: skip
        if not hasattr(values, "num_steps"):
            if method.KIND == "weights":
                self.unknown[f"the update of {request.method}"] = None
            return None
        rows = 1 + getattr(values, "retain_batch_size", 0)
        above = 1 - min(values.layers) / n_layers
        return _Steps(values.num_steps, rows, whole, whole, rows * target, 1.0, above)

    def _contexts(self, values: ValueHyperParams, steps: _Steps) -> list[Work]:
        """Sample the contexts of a target vector, and read what precedes their subjects."""
        lengths = values.context_template_length_params
        drawn = sum(number * (length - 1) for length, number in lengths)
        calls = max((length - 1 for length, _ in lengths), default=0)
        return [
            self._cost("", drawn, drawn, passes=calls),
            self._cost("", steps.rows * steps.whole, 0, passes=1),
        ]

    def _solve(self, method: Any, values: ValueHyperParams, steps: _Steps) -> Work:
        """Read the keys of each layer, and solve with its covariance, which is factored."""
        n = len(_covariances(method, values))
        cubes = LU + (EIGENVALUES if hasattr(values, "nullspace_rank") else 0)
        part = (values.layers[-1] + 1) / self.size.n_layers
        return self._cost(
            "", len(values.layers) * steps.rows * steps.whole, 0, passes=len(values.layers),
            forward=part, wide=cubes * n * float(self.size.key) ** 3,
        )  # fmt: skip

    def _cost(
        self,
        what: str,
        tokens: int,
        positions: int,
        *,
        passes: float,
        times: int = 1,
        forward: float = 1.0,
        backward: float = 0.0,
        more: float = 0.0,
        wide: float = 0.0,
    ) -> Work:
        """A part that reads tokens.

        Args:
            positions: whose logits are computed.
            passes: in which each weight is read once.
            forward, backward: fractions of the layers that are run. Backward, the gradient is of
                activations alone, as the weights are frozen: as much as forward.
            more: further FLOPs, and `wide` in float64.
        """
        size, speed = self.size, self.speed
        layers = (forward + backward) * size.n_layers * size.in_layer
        heads = (1 + (backward > 0)) * size.in_head
        flops = 2.0 * (layers * tokens + heads * positions) + more
        read = passes * (layers + heads * (positions > 0)) * size.number
        seconds = LOSS * (flops / speed.flops + read / speed.reading) + wide / speed.wide
        return Work(what, times, passes, tokens, flops, wide, seconds)

    @cached_property
    def _room(self) -> Room:
        from ...editing.probe.batching import room_for

        return room_for(self.size.skeleton, device=self.device)

    def memory(self, others: int) -> Iterator[Memory]:
        """The parts of the peak memory; weights of `others` are in memory too."""
        from ...editing.key_value.value_batches import BYTES
        from ...editing.linear_algebra import linear_algebra_device
        from ...editing.probe.batching import room_for
        from ...editing.probe.own_samples import LENGTH, TEXTS
        from ...editing.probe.own_samples import LOGITS as DRAWN

        size, here = self.size, self.device.type
        host, wide = "cpu", linear_algebra_device(self.device).type
        yield Memory("the program", host, self.program)
        yield Memory("weights", here, size.weights)
        if others:
            yield Memory("weights of the models before", here, others)
        prompt, names, read, _ = self._per_fact
        cost = self._room.cost(int(prompt + names), int(read) + 1)
        tokens = min(self._room.tokens, cost * self._before())
        yield Memory("a batch of questions", here, tokens * self._room.per_token, stays=False)
        if self.fresh:
            room = room_for(size.skeleton, growing=True, device=self.device)
            text = room.cost(LENGTH, DRAWN)
            numbers = text * max(1, min(TEXTS, room.tokens // text)) * room.per_token
            yield Memory("sampling the model's own texts", here, numbers, stays=False)
        found = [self._steps(request, values) for request, values in self.requests]
        steps = max(filter(None, found), key=lambda each: each.tokens, default=None)
        if steps is not None:
            inner = max(size.key, size.weight // size.key)
            numbers = steps.tokens * BYTES * inner * size.n_layers
            numbers += LOGITS * steps.positions * NUMBER * size.vocabulary
            yield Memory("activations of an optimisation", here, numbers, stays=False)
        layers = max(len(_covariances(*_carried_out(*each))) for each in self.requests)
        if layers:
            square = layers * size.key**2
            yield Memory(f"covariances, layers: {layers}", host, square * NUMBER)
            yield Memory("their factors in float64", wide, square * 8)
        held = max(self._held(*_carried_out(*each)[1:]) for each in self.requests)
        if held:
            yield Memory("an update, and what it replaces or is trained with", here, held)

    def _held(self, values: Any) -> int:
        """Bytes of an update: with the original, or with copy, gradient and Adam's moments."""
        weights = len(getattr(values, "layers", ())) * self.size.weight
        each = 5 * NUMBER if hasattr(values, "num_steps") else NUMBER + self.size.number
        return weights * each

    def notes(self) -> Iterator[str]:
        """List the assumptions of the numbers, and the work that they leave out."""
        yield (
            "About: optimisations take all their steps (suggested ones those that reach the clamp),"
            " and every fact of the graph counts as known. Loading and fetching the model, and the"
            " database, are not in it."
        )
        if any(request.side_effects for request, _ in self.requests):
            yield (
                f"An edit is measured on {STEP} texts of the model's own; one that does damage, on"
                " up to four times as many."
            )
        if self.device.type != "cpu":
            yield "Times were checked against runs on a CPU; on other devices they were not."
        if self.requests and self.requests[0][0].chat == "auto" and (
            getattr(self.tokenizer, "chat_template", None)
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


@dataclass(frozen=True, slots=True)
class _Steps:
    """The optimisation of one edit.

    Attributes:
        n: steps at most.
        rows: read in each, `row` tokens of each; `whole` is a complete row.
        positions: whose logits are computed in a step.
        forward, backward: fractions of the layers that a step runs.
    """

    n: int
    rows: int
    row: int
    whole: int
    positions: int
    forward: float
    backward: float

    @property
    def tokens(self) -> int:
        """Tokens of a step."""
        return self.rows * self.row


def _carried_out(request: ScoreRequest, values: Any) -> tuple[Any, Any]:
    """The method that computes the update, with its hyperparameters: of a control, another one."""
    from ...editing import registry

    method = registry.get(request.method)
    if hasattr(method, "reference"):
        return method.reference(values)
    return method, values


def _covariances(method: Any, values: Any) -> tuple[int, ...]:
    from ...editing import registry

    return registry.covariance_layers(method, values)


def _contexts_of(values: ValueHyperParams) -> tuple[int, int]:
    """Number of contexts, and the tokens of the longest."""
    lengths = values.context_template_length_params
    number = 1 + len(values.context_templates) + sum(number for _, number in lengths)
    return number, max((length for length, _ in lengths), default=0)


def _hparams_key(request: ScoreRequest) -> str:
    return f"{request.method} {request.hparams} {request.overrides}"


def _named(request: ScoreRequest) -> list[object]:
    return [request.rewrite.identity, request.seed]


def _sum(what: str, parts: Iterable[Work], times: int = 1) -> Work:
    """The parts as one."""
    found = list(parts)

    def total(name: str) -> Any:
        return sum(getattr(each, name) for each in found)

    return Work(what, times, *map(total, ("passes", "tokens", "flops", "wide", "seconds")))
