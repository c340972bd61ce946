"""Inputs of methods: covariance statistics and hypernetwork."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from filelock import FileLock

from ...loaders.records import Fact, digest, slug
from ..base.errors import UsageError
from ..graphs import datasets
from ..graphs.datasets import Dataset
from .hyperparameters import chosen_for
from .runtime import Runtime, RuntimeModel

if TYPE_CHECKING:
    from ...editing.covariance import Covariance
    from ...editing.covariance.published import Imported
    from ...editing.covariance.texts import DatasetSpec, Texts
    from ...editing.mend.data import Inference
    from ...editing.mend.network import Hypernetwork
    from ...editing.mend.store import About
    from ...editing.models import LoadedModel
    from ...editing.probe.own_samples import OwnSamples
    from .resolved import Resolved


# Covariance statistics (mom2): from the texts or files that `--covariance` names.
#
# They are collected on demand or beforehand (`thinkeval model covariance`), or imported.
#
#   (nothing)         an organism: `graph`, the corpus it was trained on; else `own-samples`
#   own-samples       texts that the unedited model writes itself, 4 tokens a dimension of the keys
#   graph             the sentences of the graph
#   FILE              a UTF-8 text file, one text a line
#   datasets:NAME?config=..&split=..&column=..&limit=..&revision=..   (package `datasets`)
#   FILE.npz, FOLDER  published statistics, named by module
#   imported          stored by `thinkeval model covariance import` for this model

DATASETS, IMPORTED, OWN_SAMPLES, SENTENCES = "datasets:", "imported", "own-samples", "graph"
OPTIONS = ("config", "split", "column", "limit", "revision")


@dataclass(frozen=True, slots=True)
class Corpus:
    """The source of a covariance.

    Attributes:
        name: as a reader of the record understands it.
        digest: of its contents; part of the edit's id.
        source: texts to collect it from, or imported statistics; None: own samples, which are
            drawn when a covariance is collected from them.
        blocks: of own samples.
    """

    name: str
    digest: str
    source: Texts | Imported | None
    blocks: int = 1


def cache_dir(runtime: Runtime) -> Path:
    """The folder of stored covariances."""
    return runtime.settings.cache / "covariance"


def resolve(
    runtime: Runtime,
    dataset: Dataset,
    text: str | None,
    model: RuntimeModel,
    layers: Sequence[int],
) -> Corpus:
    """The corpus that `--covariance` names, for these layers of a model.

    Raises:
        EditingError, UsageError: it cannot be read, or lacks a layer; with a remedy.
    """
    from ...editing.architectures import adapter_for
    from ...editing.covariance import published, texts

    if text is None:
        text = SENTENCES if _is_organism(model) else OWN_SAMPLES
    if text == OWN_SAMPLES:
        from ...editing.probe.own_samples import LENGTH, SEED, TEXTS, blocks_for, key_of

        n = blocks_for(model.loaded, _dimensions(model.loaded, layers)) if layers else 1
        name = f"{OWN_SAMPLES} ({n * TEXTS} texts of {LENGTH} tokens, seed {SEED})"
        keys = [key_of(model.loaded, block) for block in range(n)]
        return Corpus(name, (digest(keys) if n > 1 else keys[0])[:16], None, n)
    if text == SENTENCES:
        from ...editing.organism import sentences

        if model.trained_on is not None and model.trained_on != dataset.id:
            dataset = datasets.get_or_import(runtime.db, model.trained_on)
        key = ("sentences", dataset.id, dataset.digest)
        lines = runtime.memoised(key, lambda: tuple(sentences(runtime.content_of(dataset))))
        whole = runtime.memoised(("digest", *key), lambda: digest(lines))
        return Corpus(f"sentences of graph {dataset.id}", whole, lines)
    if text == IMPORTED or text.endswith(".npz") or Path(text).is_dir():
        names = [adapter_for(model.loaded.model).mlp_out(layer).name for layer in layers]
        info = model.loaded.info
        found = runtime.memoised(
            ("npz", text, info.digest, *names),
            lambda: (
                published.in_cache(
                    cache_dir(runtime), info.weights_digest, names, inputs=info.inputs
                )
                if text == IMPORTED
                else published.in_files(text, names)
            ),
        )
        return Corpus(text, found.digest, found)
    if text.startswith(DATASETS):
        file = runtime.memoised(
            ("texts", text),
            lambda: texts.dataset_file(
                dataset_spec(text), runtime.settings.cache / "texts", runtime.progress
            ),
        )
    else:
        file = runtime.memoised(("texts", text), lambda: texts.TextFile(text))
    return Corpus(text, file.corpus_digest[:16], file)


def _dimensions(loaded: LoadedModel, layers: Sequence[int]) -> int:
    """The most dimensions of the layers' keys."""
    from ...editing.architectures import adapter_for

    adapter = adapter_for(loaded.model)
    return max(adapter.key_size(layer) for layer in layers)


def with_ridge(
    runtime: Runtime, model: RuntimeModel, method: Any, hparams: Any, corpus: Corpus
) -> tuple[Any, str | None]:
    """Hyperparameters with `mom2_ridge` by the rule of `ridge_for`, and the notice of a change.

    Own samples are enough by their number, and published statistics are of 10⁷ tokens. The ridge is
    a hyperparameter, and the tokens follow from model and corpus: both are in the edit's identity.

    Args:
        method, hparams: of an edit whose user has not set `mom2_ridge`; of a control, the method
            that it carries out decides.

    Raises:
        CovarianceError: the corpus has too few tokens.
    """
    from ...editing import covariance, registry
    from ...editing.covariance.published import Imported
    from ...editing.covariance.texts import tokens_of
    from ...editing.hparams.common import ENOUGH, ridge_for

    if hasattr(method, "reference"):
        carried_out, values = method.reference(hparams)
        found, notice = with_ridge(runtime, model, carried_out, values, corpus)
        return (replace(hparams, hparams=found.as_dict()) if notice else hparams), notice
    layers, texts = registry.covariance_layers(method, hparams), corpus.source
    solves = getattr(method, "SOLVES_WITH_COVARIANCE", False)
    if not (solves and layers) or texts is None or isinstance(texts, Imported):
        return hparams, None
    loaded = model.loaded
    size = _dimensions(loaded, layers)
    tokens = runtime.memoised(
        ("tokens", corpus.digest, loaded.info.digest, f"{size}"),
        lambda: tokens_of(texts, loaded.tokenizer, covariance.longest(loaded.model), ENOUGH * size),
    )
    ridge = ridge_for(tokens, size, hparams.mom2_ridge)
    if ridge == hparams.mom2_ridge:
        return hparams, None
    notice = (
        f"The covariance is of {tokens:,} tokens for keys of {size:,} dimensions, fewer than"
        f" {ENOUGH} a dimension: mom2_ridge is raised to {ridge:g}. Give more text, or set it"
        " (--set mom2_ridge=…)."
    )
    runtime.announce(notice)
    return replace(hparams, mom2_ridge=ridge), notice


def _is_organism(model: RuntimeModel) -> bool:
    """Return True for an organism, trained here or read from its folder."""
    config = model.loaded.model.config
    return model.trained_on is not None or bool(getattr(config, "thinkeval_organism", None))


def own_samples(runtime: Runtime, loaded: LoadedModel, block: int = 0) -> OwnSamples:
    """Texts that the unedited model wrote, drawn at the first use."""
    from ...editing.probe.own_samples import stored_samples

    return runtime.memoised(
        ("own samples", loaded.info.digest, loaded.info.dtype, f"{block}"),
        lambda: stored_samples(
            loaded,
            runtime.settings.cache / OWN_SAMPLES,
            lambda done, all_: runtime.progress(done, all_, "sampling the model's own texts"),
            block,
        ),
    )


def covariance_of(
    runtime: Runtime, corpus: Corpus, model: RuntimeModel, layers: Sequence[int]
) -> Covariance | None:
    """The covariance of the layers' keys from a corpus; None where no layer needs one.

    The last one is kept with its factors: of the edits of a method the first alone computes them.
    """
    if not layers:
        return None
    info = model.loaded.info
    key = digest([corpus.digest, info.digest, info.dtype, info.device, sorted(set(layers))])
    if runtime.last_covariance is None or runtime.last_covariance[0] != key:
        runtime.last_covariance = None  # two are never in memory together
        runtime.last_covariance = (key, _covariance_of(runtime, corpus, model, layers))
    return runtime.last_covariance[1]


def _covariance_of(
    runtime: Runtime, corpus: Corpus, model: RuntimeModel, layers: Sequence[int]
) -> Covariance:
    """The covariance, read from the cache, or collected."""
    from ...editing import covariance
    from ...editing.covariance import published

    loaded = model.loaded
    source = corpus.source
    if source is None:
        blocks = [own_samples(runtime, loaded, block).texts for block in range(corpus.blocks)]
        texts = [text for block in blocks for text in block]
        source = tuple(loaded.tokenizer.batch_decode(texts, skip_special_tokens=True))
    if isinstance(source, published.Imported):
        return published.get(
            loaded.model,
            source,
            cache_dir(runtime),
            weights_digest=loaded.info.weights_digest,
            inputs=loaded.info.inputs,
        )
    return covariance.get(
        loaded.model,
        loaded.tokenizer,
        source,
        layers,
        cache_dir=cache_dir(runtime),
        weights_digest=loaded.info.weights_digest,
        inputs=loaded.info.inputs,
        progress=runtime.progress,
        checkpoint_s=runtime.settings.checkpoint_s,
    )


def dataset_spec(text: str) -> DatasetSpec:
    """Parse `datasets:NAME?config=..&limit=..`.

    Raises:
        UsageError: no name, an unknown option, or a limit that is no number.
    """
    from ...editing.covariance.texts import DatasetSpec

    name, _, query = text.removeprefix(DATASETS).partition("?")
    options: dict[str, Any] = dict(parse_qsl(query, keep_blank_values=True))
    unknown = [key for key in options if key not in OPTIONS]
    limit = options.get("limit", "1")
    if not name or unknown or not (limit.isdigit() and int(limit)):
        raise UsageError(
            f"{text!r} does not name a data set.",
            remedy="Write it like datasets:wikimedia/wikipedia?config=20231101.en&limit=100000.",
        )
    if "limit" in options:
        options["limit"] = int(limit)
    return DatasetSpec(name, **options)


def dataset_text(name: str, **options: object) -> str:
    """The text that names a data set in `--covariance`."""
    query = "&".join(f"{key}={value}" for key, value in options.items() if value is not None)
    return f"{DATASETS}{name}" + (f"?{query}" if query else "")


def collect(
    runtime: Runtime,
    graph: str,
    text: str,
    method: str,
    corpus: str | None,
    dtype: str,
    hparams: str | None = None,
) -> list[dict[str, object]]:
    """Collect (or find) the covariance a method needs for a model; one row a module.

    Args:
        corpus: as `--covariance` takes it (`service.scoring.method_inputs`).
        hparams: a file or a published name; None finds them by the model.

    Raises:
        UsageError: the method needs none for this model.
    """
    from ...editing import registry

    dataset = datasets.dataset(runtime.db, graph)
    model = runtime.model(text, dataset, dtype=dtype)
    found = chosen_for(runtime, method, model, hparams).values
    layers = registry.covariance_layers(registry.get(method), found)
    resolved = resolve(runtime, dataset, corpus, model, layers)
    moments = covariance_of(runtime, resolved, model, layers)
    if moments is None:
        raise UsageError(f"The method {method!r} needs no covariance for {model.name}.")
    return _rows(moments, resolved.name)


def import_published(
    runtime: Runtime, graph: str, text: str, place: Path, layer: int | None, dtype: str
) -> list[dict[str, object]]:
    """Import a file of published statistics, or all of a folder, for a model; one row a module.

    Args:
        layer: of the only file, where its name does not begin with its module.

    Raises:
        UsageError: nothing says which layer a file is of, or name and `layer` disagree.
        CovarianceError: a file is none of the published form, or does not fit the model.
    """
    from ...editing.architectures import adapter_for
    from ...editing.covariance import published

    files = sorted(place.rglob("*.npz")) if place.is_dir() else [place]
    if not files or (layer is not None and len(files) > 1):
        raise UsageError(
            f"{place} has {len(files) or 'no'} .npz files.",
            remedy="Name one file, or without --layer a folder with one file for each layer.",
        )
    model = runtime.model(text, graph, dtype=dtype)
    wanted = None if layer is None else adapter_for(model.loaded.model).mlp_out(layer).name
    rows: list[dict[str, object]] = []
    for file in files:
        named = published.module_of(file)
        module = wanted or named
        if module is None or (wanted and named not in (wanted, None)):
            raise UsageError(
                f"The name of {file} says {f'it is of {named}' if named else 'no module'}"
                + (f", --layer {layer} is {wanted}." if wanted else "."),
                remedy="Give --layer, the layer whose MLP output projection it was taken at.",
            )
        published.layer_of(model.loaded.model, module)
        source = published.in_files(file, [module], named=wanted is None)
        found = published.get(
            model.loaded.model,
            source,
            cache_dir(runtime),
            weights_digest=model.loaded.info.weights_digest,
            inputs=model.loaded.info.inputs,
        )
        rows += _rows(found, str(file))
    return rows


def _rows(found: Covariance, corpus: str) -> list[dict[str, object]]:
    about = found.about
    return [
        {
            "module": name,
            "d_in": int(moment.shape[0]),
            "tokens": found.n_tokens,
            "texts": about.get("n_texts"),
            "mean_eigenvalue": float(moment.diagonal().mean()),
            "corpus": corpus,
            "origin": about.get("origin"),
            "weights_digest": about.get("weights_digest"),
        }
        for name, moment in found.items()
    ]


# The hypernetwork that a method with `NEEDS_HYPERNETWORK` edits with: stored, or trained.
#
# It is stored in the cache by all that decides it: the model's weights, the training values of
# the hyperparameters, and the facts it may see. These are the graph's, without those of any
# rewrite request's subject and relation (`editing.mend.data`); a rewrite of the user's own that
# is one of the graph's facts is left out as well, and so has a hypernetwork of its own.

SMALL = 20_000_000
"""Models of at most so many weights (organisms) get their hypernetwork trained when it is needed;
for a larger one that takes hours, and `thinkeval model train-mend` starts it."""

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
    words = [f"thinkeval model train-mend {request.graph} --model {request.model}"]
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
