"""Where key statistics come from: `--covariance`, as text or as published statistics.

(nothing)                    the sentences of the graph
FILE                         a UTF-8 text file, one text a line
datasets:NAME?config=..&split=..&column=..&limit=..&revision=..   (package `datasets`)
FILE.npz, FOLDER             published statistics, named by module
imported                     what `thinkeval covariance import` stored for this model
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from thinkeval.loaders.records import digest
from thinkeval.service.errors import UsageError
from thinkeval.service.graphs.datasets import graph_digest, stored_graph
from thinkeval.service.scoring.runtime import BenchModel, Workbench

if TYPE_CHECKING:
    from thinkeval.editing.covariance import Covariance
    from thinkeval.editing.covariance.published import Imported
    from thinkeval.editing.covariance.texts import DatasetSpec, Texts

DATASETS, IMPORTED = "datasets:", "imported"
OPTIONS = ("config", "split", "column", "limit", "revision")


@dataclass(frozen=True, slots=True)
class Corpus:
    """Where a covariance comes from.

    Attributes:
        name: as a reader of the record understands it.
        digest: of its contents; part of the edit's id.
        source: texts to collect it from, or imported statistics.
    """

    name: str
    digest: str
    source: Texts | Imported


def cache_dir(bench: Workbench) -> Path:
    """Where covariances are kept."""
    return bench.settings.cache / "covariance"


def resolve(
    bench: Workbench, graph: str, text: str | None, model: BenchModel, layers: Sequence[int]
) -> Corpus:
    """The corpus that `--covariance` names, for these layers of a model.

    Raises:
        EditingError, UsageError: it cannot be read, or lacks a layer; with a remedy.
    """
    from thinkeval.editing.architectures import adapter_for
    from thinkeval.editing.covariance import published, texts

    if text is None:
        from thinkeval.editing.organism import sentences

        key = ("sentences", graph, graph_digest(bench.db, graph))
        lines = bench.remembered(key, lambda: tuple(sentences(stored_graph(bench.db, graph))))
        whole = bench.remembered(("digest", *key), lambda: digest(lines))
        return Corpus(f"sentences of graph {graph}", whole, lines)
    if text == IMPORTED or text.endswith(".npz") or Path(text).is_dir():
        names = [adapter_for(model.loaded.model).mlp_out(layer).name for layer in layers]
        weights = model.loaded.info.weights_digest
        found = bench.remembered(
            ("npz", text, weights, *names),
            lambda: (
                published.in_cache(cache_dir(bench), weights, names)
                if text == IMPORTED
                else published.in_files(text, names)
            ),
        )
        return Corpus(text, found.digest, found)
    if text.startswith(DATASETS):
        file = bench.remembered(
            ("texts", text),
            lambda: texts.dataset_file(
                dataset_spec(text), bench.settings.cache / "texts", bench.progress
            ),
        )
    else:
        file = bench.remembered(("texts", text), lambda: texts.TextFile(text))
    return Corpus(text, file.corpus_digest[:16], file)


def covariance_of(
    bench: Workbench, corpus: Corpus, model: BenchModel, layers: Sequence[int]
) -> Covariance | None:
    """The covariance of the layers' keys from a corpus; None where no layer needs one."""
    from thinkeval.editing import covariance
    from thinkeval.editing.covariance import published

    if not layers:
        return None
    loaded = model.loaded
    if isinstance(corpus.source, published.Imported):
        return published.get(
            loaded.model,
            corpus.source,
            cache_dir(bench),
            weights_digest=loaded.info.weights_digest,
        )
    return covariance.get(
        loaded.model,
        loaded.tokenizer,
        corpus.source,
        layers,
        cache_dir=cache_dir(bench),
        weights_digest=loaded.info.weights_digest,
        progress=bench.progress,
        checkpoint_s=bench.settings.checkpoint_s,
    )


def dataset_spec(text: str) -> DatasetSpec:
    """Parse `datasets:NAME?config=..&limit=..`.

    Raises:
        UsageError: no name, an unknown option, or a limit that is no number.
    """
    from thinkeval.editing.covariance.texts import DatasetSpec

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
