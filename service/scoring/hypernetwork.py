"""The hypernetwork that a method with `NEEDS_HYPERNETWORK` edits with: stored, or trained.

It is stored in the cache by all that decides it: the model's weights, the training values of the
hyperparameters, and the facts it may see. These are the graph's, without those of any rewrite
request's subject and relation (`editing.mend.data`); a rewrite of the user's own that is one of
the graph's facts is left out as well, and so has a hypernetwork of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from ...loaders.records import Fact, digest, slug
from ..graphs.datasets import Dataset
from .runtime import Runtime, RuntimeModel

if TYPE_CHECKING:
    from ...editing.mend.data import Inference
    from ...editing.mend.network import Hypernetwork
    from ...editing.mend.store import About
    from .resolved import Resolved

SMALL = 20_000_000
"""Models of at most so many weights (organisms) get their hypernetwork trained when it is needed;
for a larger one that takes hours, and `thinkeval train-mend` starts it."""

_PROTOCOL = 1
"""Part of every key: raise it when examples, losses or the network change."""

SubjectRelation = tuple[str, str]
"""A subject and a relation whose facts are never trained on."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A hypernetwork by the inputs that determine it; it need not exist yet."""

    graph: str
    facts: tuple[Fact, ...]
    key: str
    path: Path
    inferences: tuple[Inference, ...] = ()


def needed(method: Any) -> bool:
    """Return True if a method works with a hypernetwork."""
    return bool(getattr(method, "NEEDS_HYPERNETWORK", False))


def of_request(resolved: Resolved) -> Wanted | None:
    """The hypernetwork that a request's method edits with; None where an archive is named."""
    if resolved.hparams.archive is not None:
        return None
    rewrite = resolved.request.rewrite
    own = (rewrite.subject, rewrite.relation)
    return wanted(resolved.runtime, resolved.dataset, resolved.model, resolved.hparams, [own])


def identify(resolved: Resolved, found: Wanted | None) -> str:
    """The identity of the hypernetwork, part of an edit's; known before any is trained.

    Args:
        found: as `of_request`.

    Raises:
        HypernetworkError: the named archive is unreadable or another model's; or none is stored
            and the model is too large to train one on demand.
    """
    from ...editing.errors import HypernetworkError
    from ...editing.mend import store

    model, hparams = resolved.model, resolved.hparams
    weights = model.loaded.info.weights_digest
    if found is None:
        about = store.about(hparams.archive)
        if about.weights_digest != weights:
            raise HypernetworkError(
                f"{hparams.archive} was trained for another model than {model.name} (weights "
                f"{about.weights_digest[:12]}, not {weights[:12]})"
            )
        if about.inputs and about.inputs != model.loaded.info.inputs:
            raise HypernetworkError(
                f"{hparams.archive} was trained on the weights of {model.name} with another "
                "configuration or tokenizer"
            )
        return f"file {store.file_digest(hparams.archive)}"
    if not found.path.is_file() and model.loaded.info.n_parameters > SMALL:
        raise HypernetworkError(
            f"no hypernetwork is stored for {model.name}, graph {resolved.dataset.id} and these "
            "hyperparameters",
            remedy=f"Train it with `{_command(resolved)}`; that takes a while.",
        )
    return found.key


def state_for(resolved: Resolved, found: Wanted | None) -> dict[str, Hypernetwork]:
    """The method's `state`; the hypernetwork is trained first where none is stored."""
    from ...editing.mend import store

    runtime, model, hparams = resolved.runtime, resolved.model, resolved.hparams
    device = model.loaded.device
    if found is None:
        return {"hypernetwork": store.load(hparams.archive, device)[0]}
    train(runtime, found, model, hparams)
    key = ("hypernetwork", found.key)
    return {"hypernetwork": runtime.memoised(key, lambda: store.load(found.path, device)[0])}


def wanted(
    runtime: Runtime,
    dataset: Dataset,
    model: RuntimeModel,
    hparams: Any,
    excluded: Iterable[SubjectRelation] = (),
    inferences: Iterable[Inference] = (),
) -> Wanted:
    """The hypernetwork of a model, a graph and hyperparameters.

    Args:
        excluded: left out besides the graph's own rewrite requests.
        inferences: conclusions from edits, if it is trained on them too (hparams.cimp).
    """
    from ...editing.mend.data import training_facts

    content = runtime.content_of(dataset)
    out = {(r.subject, r.relation) for r in content.rewrites} | set(excluded)
    named = ("mend facts", dataset.id, dataset.digest, digest(sorted(out)))
    facts = runtime.memoised(named, lambda: training_facts(content.facts, out))
    weights, values = model.loaded.info.weights_digest, hparams.training_digest
    follows = tuple(inferences)
    decides = [_PROTOCOL, weights, model.loaded.info.inputs, values, _facts_digest(facts)]
    if follows:
        decides.append(digest([asdict(one) for one in follows]))
    key = digest(decides)
    path = runtime.settings.cache / "mend" / f"{slug(dataset.id)}-{key}.safetensors"
    return Wanted(dataset.id, facts, key, path, follows)


def train(
    runtime: Runtime, found: Wanted, model: RuntimeModel, hparams: Any, *, force: bool = False
) -> tuple[About, bool]:
    """Train the hypernetwork unless it is stored; return its record, and True if it was stored.

    Of several processes one trains and the others wait for its file.

    Raises:
        EditingError: as `editing.mend.training.train`, or the stored file is damaged.
    """
    from ...editing.mend import store, training

    found.path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(found.path.with_suffix(".lock")):
        if found.path.is_file() and not force:
            return store.about(found.path), True
        started = time.perf_counter()
        loaded = model.loaded
        done = training.train(
            loaded.model,
            loaded.tokenizer,
            found.facts,
            hparams,
            inferences=found.inferences,
            weights_digest=loaded.info.weights_digest,
            progress=runtime.progress,
        )
        about = store.About(
            weights_digest=loaded.info.weights_digest,
            inputs=loaded.info.inputs,
            key=found.key,
            hparams_digest=hparams.training_digest,
            facts_digest=_facts_digest(found.facts),
            graph=found.graph,
            seed=hparams.train_seed,
            steps=done.steps,
            best_step=done.best_step,
            before=done.before,
            after=done.after,
            seconds=round(time.perf_counter() - started, 2),
        )
        store.save(done.network, about, found.path)
        return about, False


def _facts_digest(facts: tuple[Fact, ...]) -> str:
    return digest([asdict(fact) for fact in facts])


def _command(resolved: Resolved) -> str:
    """The command that trains the hypernetwork of a request."""
    request = resolved.request
    words = [f"thinkeval train-mend {request.graph} --model {request.model}"]
    if request.dtype != "float32":
        words.append(f"--dtype {request.dtype}")
    if request.revision:
        words.append(f"--revision {request.revision}")
    words += [f"--set {key}={value}" for key, value in request.overrides.items()]
    if request.hparams:
        words.append(f"--hparams {request.hparams}")
    subject, relation = request.rewrite.subject, request.rewrite.relation
    stored = resolved.runtime.content_of(resolved.dataset).rewrites
    if (subject, relation) not in {(r.subject, r.relation) for r in stored}:
        words.append(f'--subject "{subject}" --relation "{relation}"')
    return " ".join(words)
