"""The loss of an edit that appends an answer: what a request asks for, and the editor's objective.

APP preserves the other answers (PEAK, Ma et al. 2024, §6); "+" makes them targets too (§7.7). The
weights are those of the request, else the published ones of the method and model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...append_schemas import AppendOptions, AppendOut
from ...errors import UsageError
from . import filter as answer_filter
from . import probing

if TYPE_CHECKING:
    from ....editing.objectives import Objective
    from ....loaders.records import RewriteRequest
    from ...schemas import EditOptions
    from ..resolved import Resolved

WEIGHTS = ("alpha", "beta", "gamma")


def check(options: EditOptions, rewrite: RewriteRequest) -> None:
    """Refuse what cannot be scored, before a model is loaded.

    Raises:
        UsageError: options of an append for a request to replace; a conversation about an append; a
            loss for a method that takes none.
        UnknownMethodError: there is no such method.
    """
    _check_kind(options, rewrite)
    if options.append_loss == "none":
        return
    from ....editing import registry

    if options.append_loss == "app" and registry.trains_app(options.method):
        if options.beta or options.gamma:
            raise UsageError(
                f"{options.method} takes APP in its training, and of its losses only the margin.",
                remedy="Leave out --beta and --gamma.",
            )
        return
    if not registry.takes_objective(options.method):
        raise UsageError(
            f"{options.method} takes no further loss: --append-loss {options.append_loss} is for"
            " methods that optimise one in the edit.",
            remedy="Use --append-loss none, or another method such as rome, memit or fine_tuning.",
        )


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
    """How the answer of a request to append is appended, with the weights that are used.

    Raises:
        HparamsError: APP without a weight, and none is published for the method and model.
    """
    from ....editing import registry

    request, rewrite = resolved.request, resolved.request.rewrite
    more: dict[str, Any] = {}
    if request.append_loss == "app" and registry.trains_app(request.method):
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
        from ....editing.hparams import short_name
        from ....editing.objectives import weights

        method = getattr(resolved.hparams, "method", request.method)
        model = short_name(resolved.model.source) or Path(resolved.model.name).name.lower()
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
    from ....editing import registry

    request = resolved.request
    if request.append_loss != "app" or not registry.trains_app(request.method):
        return resolved
    alpha = _weights(resolved)[0] if request.alpha is None else request.alpha
    return replace(resolved, hparams=replace(resolved.hparams, app_alpha=alpha))


def identity(append: AppendOut) -> dict[str, object]:
    """What an edit's numbers depend on besides its request; the number of answers is the request's.

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
    from ....editing import registry

    if not registry.takes_objective(request.method):
        return None
    from ....editing.objectives.all_answers import AllAnswers
    from ....editing.objectives.app import App

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
    first = probing.before(replace(resolved, request=type(request).of(rewrite, request)))[0]
    places = answer_filter.kept(first.correct, first.hard, first.random)
    if not places.counts:
        return (), ()
    return (
        tuple(rewrite.correct[i] for i in places.correct),
        tuple(rewrite.hard[i] for i in places.hard),
    )
