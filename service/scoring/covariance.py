"""Covariance statistics (mom2): from the texts or files that `--covariance` names.

They are collected on demand or beforehand (`thinkeval covariance`), or imported.

(nothing)                    the sentences of the graph
FILE                         a UTF-8 text file, one text a line
datasets:NAME?config=..&split=..&column=..&limit=..&revision=..   (package `datasets`)
FILE.npz, FOLDER             published statistics, named by module
imported                     stored by `thinkeval covariance import` for this model
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from ...loaders.records import digest
from ..errors import UsageError
from ..graphs import datasets
from ..graphs.datasets import Dataset
from .runtime import Runtime, RuntimeModel

if TYPE_CHECKING:
    from ...editing.covariance import Covariance
    from ...editing.covariance.published import Imported
    from ...editing.covariance.texts import DatasetSpec, Texts

DATASETS, IMPORTED = "datasets:", "imported"
OPTIONS = ("config", "split", "column", "limit", "revision")


@dataclass(frozen=True, slots=True)
class Corpus:
    """The source of a covariance.

    Attributes:
        name: as a reader of the record understands it.
        digest: of its contents; part of the edit's id.
        source: texts to collect it from, or imported statistics.
    """

    name: str
    digest: str
    source: Texts | Imported


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


def covariance_of(
    runtime: Runtime, corpus: Corpus, model: RuntimeModel, layers: Sequence[int]
) -> Covariance | None:
    """The covariance of the layers' keys from a corpus; None where no layer needs one."""
    from ...editing import covariance
    from ...editing.covariance import published

    if not layers:
        return None
    loaded = model.loaded
    if isinstance(corpus.source, published.Imported):
        return published.get(
            loaded.model,
            corpus.source,
            cache_dir(runtime),
            weights_digest=loaded.info.weights_digest,
            inputs=loaded.info.inputs,
        )
    return covariance.get(
        loaded.model,
        loaded.tokenizer,
        corpus.source,
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
        corpus: as `--covariance` takes it (`service.scoring.covariance`).
        hparams: a file or a published name; None finds them by the model.

    Raises:
        UsageError: the method needs none for this model.
    """
    from ...editing import hparams as hparams_files
    from ...editing import registry

    dataset = datasets.dataset(runtime.db, graph)
    model = runtime.model(text, dataset, dtype=dtype)
    layers = registry.covariance_layers(
        registry.get(method), hparams_files.load(method, hparams or model.source)
    )
    resolved = resolve(runtime, dataset, corpus, model, layers)
    found = covariance_of(runtime, resolved, model, layers)
    if found is None:
        raise UsageError(f"The method {method!r} needs no covariance for {model.name}.")
    return _rows(found, resolved.name)


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
