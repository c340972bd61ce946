"""Requests to append an answer (PEAK, Ma et al. 2024): filter, answers, metrics, loss, requests.

The filter decides which answers of a prompt count; P of each is probed before and after the edit;
additivity is read off the stored answers by one query; the loss of an editor can keep the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from ...cypher import rows
from ...loaders.records import RewriteRequest, digest
from ..base.errors import UsageError
from ..graphs import requests
from ..models.edit import (
    AdditivityOptions,
    AppendLoss,
    AppendOptions,
    AppendOut,
    MetricValue,
    Score,
)
from .chat import settled
from .probe import Progress, filled

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...editing.deltas import EditEffect
    from ...editing.models import LoadedModel
    from ...editing.objectives import Objective
    from ..graphs.datasets import Dataset
    from ..models.edit import EditOptions
    from .resolved import Pairs, Resolved
    from .runtime import Runtime


LARGER = 0.2
"""A correct answer is dropped where this fraction of the hard false ones is likelier, or more."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Places of the kept names in their lists; a prompt counts where all three have some."""

    correct: tuple[int, ...]
    hard: tuple[int, ...]
    random: tuple[int, ...]

    @property
    def counts(self) -> bool:
        """Return True if metrics are taken at the prompt."""
        return bool(self.correct and self.hard and self.random)


def kept(correct: Sequence[float], hard: Sequence[float], random: Sequence[float]) -> Kept:
    """The names of one prompt that the filter keeps, by place: ties and equal names stay apart.

    Args:
        correct: probabilities before the edit, one a name; likewise `hard` and `random`.
    """
    places = tuple(
        i
        for i, p in enumerate(correct)
        if not hard or sum(wrong > p for wrong in hard) / len(hard) < LARGER
    )
    least = min((correct[i] for i in places), default=float("inf"))

    def below(wrong: Sequence[float]) -> tuple[int, ...]:
        return tuple(i for i, p in enumerate(wrong) if p < least)

    return Kept(places, below(hard), below(random))


PromptRole = Literal["prompt", "paraphrase", "locality"]
STAGE = "answers of the append"
LISTS = ("correct", "hard", "random")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A complete prompt of a request to append, and the names that are probed there.

    Attributes:
        right: at a prompt of locality, its right answer; there the lists are empty.
    """

    role: PromptRole
    text: str
    new: str
    correct: tuple[str, ...] = ()
    hard: tuple[str, ...] = ()
    random: tuple[str, ...] = ()
    right: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """target_new, then the others, in the order in which `PromptAnswers` are cut."""
        right = (self.right,) if self.right is not None else ()
        return (self.new, *self.correct, *self.hard, *self.random, *right)


@dataclass(frozen=True, slots=True)
class PromptAnswers:
    """P of each name at one prompt; the lists are in the order of the prompt's."""

    prompt: Prompt
    new: float
    correct: tuple[float, ...]
    hard: tuple[float, ...]
    random: tuple[float, ...]
    right: float | None


def prompts(rewrite: RewriteRequest, near: Pairs) -> list[Prompt]:
    """The prompts of a request: its own, its paraphrases', and those of locality.

    Args:
        near: complete prompts about other subjects, each with its right answer.
    """
    lists = (rewrite.correct, rewrite.hard, rewrite.random)

    def cloze(role: PromptRole, text: str) -> Prompt:
        return Prompt(role, filled(text, rewrite.subject), rewrite.target_new, *lists)

    return [
        cloze("prompt", rewrite.prompt),
        *(cloze("paraphrase", text) for text in rewrite.paraphrases),
        *(Prompt("locality", text, rewrite.target_new, right=name) for text, name in near),
    ]


def answers(
    loaded: LoadedModel,
    asked: Sequence[Prompt],
    *,
    chat: str = "auto",
    prompt_change: Callable[[str], str] | None = None,
    progress: Progress | None = None,
) -> list[PromptAnswers]:
    """P of every name at every prompt, in batches over both.

    Args:
        chat: whether the chat template is used, as in `ProbeSettings`.
        prompt_change: of an in-context edit, applied to the plain prompts.

    Raises:
        ProbeError: a name without tokens, a prompt too long, NaN; names the prompt.
        DeviceMemoryError: a single row does not fit.
    """
    from ...editing.evaluation_mode import evaluating
    from ...editing.probe.likelihood import likelihoods
    from ...editing.probe.prompts import Query, Renderer

    renderer = Renderer(loaded.tokenizer, chat, prompt_change)
    queries = [
        Query(f"{prompt.role} {place}", rendered, (name,))
        for place, prompt in enumerate(asked)
        for rendered in [renderer.cloze(prompt.text)]
        for name in prompt.names
    ]

    def done(finished: int, total: int) -> None:
        if progress is not None:
            progress(finished, total, STAGE)

    with evaluating(loaded.model):
        found = iter([each.likelihood_norm for each in likelihoods(loaded, queries, done=done)])
    return [_of_prompt(prompt, found) for prompt in asked]


def _of_prompt(prompt: Prompt, values: Iterator[float]) -> PromptAnswers:
    def take(names: Sequence[str]) -> tuple[float, ...]:
        return tuple(next(values) for _ in names)

    return PromptAnswers(
        prompt,
        new=next(values),
        correct=take(prompt.correct),
        hard=take(prompt.hard),
        random=take(prompt.random),
        right=next(values) if prompt.right is not None else None,
    )


def before(resolved: Resolved) -> list[PromptAnswers]:
    """The unedited model's answers, asked once for all edits of a request."""
    loaded, probe = resolved.model.loaded, resolved.request.probe
    asked = prompts(resolved.request.rewrite, resolved.near)
    key = digest([asdict(prompt) for prompt in asked])
    return resolved.runtime.memoised(
        (STAGE, loaded.info.digest, loaded.info.dtype, probe.chat, key),
        lambda: answers(loaded, asked, chat=probe.chat, progress=resolved.runtime.progress),
    )


def after(
    resolved: Resolved, effect: EditEffect, pre: Sequence[PromptAnswers]
) -> list[PromptAnswers]:
    """The edited model's answers; it is restored. An effect that changes nothing leaves them."""
    from ...editing.deltas import applied

    if effect.changes_nothing:
        return list(pre)
    loaded = resolved.model.loaded
    with applied(loaded.model, effect):
        return answers(
            loaded,
            [each.prompt for each in pre],
            chat=resolved.request.probe.chat,
            prompt_change=effect.prompt_change,
            progress=resolved.runtime.progress,
        )


def both(resolved: Resolved, effect: EditEffect) -> list[dict[str, Any]]:
    """Return the answers before and after an edit; none where the request replaces an answer."""
    if resolved.request.rewrite.kind != "append":
        return []
    pre = before(resolved)
    return both_sides(pre, after(resolved, effect, pre))


def both_sides(pre: Sequence[PromptAnswers], post: Sequence[PromptAnswers]) -> list[dict[str, Any]]:
    """Return both sides of each prompt as cypher/append/write_answers.cypher takes them."""
    out = []
    for place, (old, now) in enumerate(zip(pre, post, strict=True)):
        prompt = old.prompt
        row: dict[str, Any] = {"place": place, "role": prompt.role, "text": prompt.text}
        row |= {"new_pre": old.new, "new_post": now.new}
        if prompt.right is not None:
            row |= {"right_pre": old.right, "right_post": now.right}
        else:
            for name in LISTS:
                row[name] = list(getattr(prompt, name))
                row[f"{name}_pre"] = list(getattr(old, name))
                row[f"{name}_post"] = list(getattr(now, name))
        out.append(row)
    return out


MEASURE: Final = "likelihood_norm"
BY_SET = ("rff", "rnf", "fpc", "aff", "anf")
"""Metrics that each set of false answers has one of, as in `aff_hard`."""


def measured(
    db: Database, edits: Sequence[str], options: AdditivityOptions | None = None
) -> dict[str, list[MetricValue]]:
    """Return {edit: values}; of an edit without stored answers all are None with n = 0.

    Efficacy (`append_es`), its paraphrases (`append_gs`), locality (`append_ls`), and additivity
    against hard and random false answers (PEAK, §4, eq. 1 to 6, and §7.2).
    """
    chosen = (options or AdditivityOptions()).model_dump()
    values: dict[str, list[MetricValue]] = {}
    for row in db.read(rows.AdditivityRow, "append/additivity", edits=list(edits), **chosen):
        values.setdefault(row.edit, _successes(row)).extend(_of_set(row))
    return values


def measured_again(
    db: Database, scores: Sequence[Score], options: AdditivityOptions
) -> list[Score]:
    """Return scores of appends with their values by these options; stored ones stay as they are."""
    found = measured(db, [score.edit for score in scores], options)
    again = []
    for score in scores:
        new = {value.metric: value for value in found[score.edit]}
        values = [value for value in score.values if value.metric not in new]
        again.append(score.model_copy(update={"values": [*values, *new.values()]}))
    return again


def _successes(row: rows.AdditivityRow) -> list[MetricValue]:
    """Return the rows that both sets have."""
    paraphrases = max(row.prompts - 1, 0)
    return [
        _value("append_es", row.es, row.n_es, min(row.prompts, 1)),
        _value("append_gs", row.gs, row.n_gs, paraphrases),
        _value("append_ls", row.ls, row.n_ls, row.asked_ls),
        _value("cpc", row.cpc, row.n, row.prompts),
    ]


def _of_set(row: rows.AdditivityRow) -> list[MetricValue]:
    counted = {"fpc": row.n_fpc, "anf": row.n_fpc}
    return [
        _value(f"{name}_{row.set}", getattr(row, name), counted.get(name, row.n), row.prompts)
        for name in BY_SET
    ]


def _value(metric: str, value: float | None, n: int, asked: int) -> MetricValue:
    return MetricValue(metric=metric, measure=MEASURE, value=value, n=n, excluded=asked - n)


WEIGHTS = ("alpha", "beta", "gamma")


def check(options: EditOptions, rewrite: RewriteRequest) -> None:
    """Refuse options that cannot be scored, before a model is loaded.

    Raises:
        UsageError: options of an append for a request to replace; a conversation about an append; a
            loss for a method that takes none.
        UnknownMethodError: there is no such method.
    """
    _check_kind(options, rewrite)
    if not takes_loss(options.method, options.append_loss):
        raise UsageError(
            f"{options.method} takes no further loss: --append-loss {options.append_loss} is for"
            " methods that optimise one in the edit.",
            remedy="Use --append-loss none, or another method such as rome, memit or fine_tuning.",
        )
    if (
        options.append_loss == "app"
        and _trained(options.method)
        and (options.beta or options.gamma)
    ):
        raise UsageError(
            f"{options.method} takes APP in its training, and of its losses only the margin.",
            remedy="Leave out --beta and --gamma.",
        )


def takes_loss(method: str, loss: AppendLoss) -> bool:
    """Return True if a method's loss can hold the other answers in this way."""
    from ...editing import registry

    return (
        loss == "none" or registry.takes_objective(method) or (loss == "app" and _trained(method))
    )


def _trained(method: str) -> bool:
    """Return True if APP is a part of the method's training: of MEND's hypernetwork (PEAK, §6)."""
    from ...editing import registry

    return registry.trains_app(method)


def _check_kind(options: EditOptions, rewrite: RewriteRequest) -> None:
    """Refuse options that the kind of the request does not have."""
    if rewrite.kind == "append":
        if options.conversation:
            raise UsageError(
                "A conversation looks for the old object, and an appended answer replaces none.",
                remedy="Leave out --conversation.",
            )
        if rewrite.target_new in rewrite.correct and not options.allow_known:
            raise UsageError(
                f"{rewrite.target_new!r} is a correct answer of {rewrite.id!r} already.",
                remedy="Use --allow-known to append it nevertheless, or leave the request out.",
            )
        return
    fields = AppendOptions.model_fields
    given = [name for name in fields if getattr(options, name) != fields[name].default]
    if given:
        raise UsageError(
            f"{', '.join(given)}: for requests to append an answer, and {rewrite.id!r} replaces"
            " one.",
            remedy="Leave them out, or name a request with correct answers.",
        )


def described(resolved: Resolved) -> AppendOut:
    """Return the way in which an answer is appended, with the weights that are used.

    Raises:
        HparamsError: APP without a weight, and none is published for the method and model.
    """
    request, rewrite = resolved.request, resolved.request.rewrite
    more: dict[str, Any] = {}
    if request.append_loss == "app" and _trained(request.method):
        more = {"alpha": resolved.hparams.app_alpha, "beta": 0.0, "gamma": 0.0}
    elif request.append_loss == "app":
        more = dict(zip(WEIGHTS, _weights(resolved), strict=True))
        more |= {"neighbours": request.neighbours, "lists": request.app_lists}
    return AppendOut(
        loss=request.append_loss,
        allow_known=rewrite.target_new in rewrite.correct,
        n_correct=len(rewrite.correct),
        n_hard=len(rewrite.hard),
        n_random=len(rewrite.random),
        **more,
    )


def _weights(resolved: Resolved) -> tuple[float, float, float]:
    """Alpha, beta and gamma; those that the request leaves open are the published ones."""
    request = resolved.request
    given = [getattr(request, name) for name in WEIGHTS]
    published = (0.0, 0.0, 0.0)
    if None in given:
        from ...editing.hparams import short_name
        from ...editing.objectives import weights

        method = getattr(resolved.hparams, "method", request.method)
        model = short_name(resolved.model.listed_as) or Path(resolved.model.name).name.lower()
        published = weights.published(method, model)
    alpha, beta, gamma = (
        default if value is None else float(value)
        for value, default in zip(given, published, strict=True)
    )
    return alpha, beta, gamma


def with_trained_loss(resolved: Resolved) -> Resolved:
    """The request with APP's margin in its hyperparameters, where the method is trained with it.

    MEND's hypernetwork learns the loss (PEAK, §6), so that it is another one; the edit stays.
    """
    request = resolved.request
    if request.append_loss != "app" or not _trained(request.method):
        return resolved
    alpha = _weights(resolved)[0] if request.alpha is None else request.alpha
    return replace(resolved, hparams=replace(resolved.hparams, app_alpha=alpha))


def identity(append: AppendOut) -> dict[str, object]:
    """Return the basis of an edit's numbers besides its request, whose number of answers it is.

    Weights and lists count for APP only.
    """
    names = ("loss", *WEIGHTS, "neighbours", "lists") if append.loss == "app" else ("loss",)
    return {name: getattr(append, name) for name in names}


def of_request(resolved: Resolved, others: Sequence[RewriteRequest] = ()) -> Objective | None:
    """The objective of a request; None for the method's own loss.

    Args:
        others: further requests that are edited with it, or after it.
    """
    request = resolved.request
    if request.rewrite.kind != "append" or request.append_loss == "none":
        return None
    from ...editing import registry

    if not registry.takes_objective(request.method):
        return None
    from ...editing.objectives.all_answers import AllAnswers
    from ...editing.objectives.app import App

    rewrites = {each.id: each for each in (request.rewrite, *others)}
    if request.append_loss == "all-answers":
        return AllAnswers({name: each.correct for name, each in rewrites.items()})
    k = None if request.neighbours == "all" else int(request.neighbours)
    lists = {name: _lists(resolved, each) for name, each in rewrites.items()}
    correct = {name: each[:k] for name, (each, _) in lists.items()}
    hard = {name: each[:k] for name, (_, each) in lists.items()}
    return App(*_weights(resolved), correct, hard)


Names = tuple[str, ...]


def _lists(resolved: Resolved, rewrite: RewriteRequest) -> tuple[Names, Names]:
    """The correct and the hard false answers: all, or those that the filter keeps at the prompt."""
    request = resolved.request
    if request.app_lists == "all":
        return rewrite.correct, rewrite.hard
    first = before(replace(resolved, request=type(request).of(rewrite, request)))[0]
    places = kept(first.correct, first.hard, first.random)
    if not places.counts:
        return (), ()
    return (
        tuple(rewrite.correct[i] for i in places.correct),
        tuple(rewrite.hard[i] for i in places.hard),
    )


def build_requests(
    runtime: Runtime,
    dataset: Dataset,
    *,
    model: str | None = "organism",
    chat: str = "auto",
    dtype: str = "float32",
    revision: str | None = None,
) -> requests.Requests:
    """Build the requests of a data set and store them in it.

    Args:
        model: the model that must not give the new answers; None: they are chosen by name only.

    Raises:
        ConflictError: the graph has changed meanwhile.
        ProbeError: the model cannot be asked for a name; says which.
    """
    from ...editing.probe.settings import ProbeSettings

    graph, found = requests.of_graph(runtime.db, dataset.id)
    todo = requests.without_request(graph, found)
    priors = None
    if model is not None and todo:
        loaded = runtime.model(model, dataset, dtype=dtype, revision=revision).loaded
        settings = ProbeSettings(chat=cast("Any", chat))
        chat = settled(runtime, dataset, loaded, settings)[0].chat
        priors = _priors(runtime, loaded, todo, chat)
    built = requests.build(runtime.db, graph, found, priors)
    if built.built:
        requests.store(runtime.db, graph, built.built)
    return built


def _priors(
    runtime: Runtime, loaded: LoadedModel, todo: Sequence[requests.Key], chat: str
) -> dict[requests.Pair, requests.Prior]:
    """P0 of every name of the range of every pair, in batches over all."""
    asked = [
        Prompt("prompt", filled(key.prompt, key.subject), key.range[0], correct=key.range[1:])
        for key in todo
    ]
    found = answers(loaded, asked, chat=chat, progress=runtime.progress)
    return {
        key.pair: dict(zip(key.range, (each.new, *each.correct), strict=True))
        for key, each in zip(todo, found, strict=True)
    }
