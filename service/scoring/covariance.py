"""Key statistics by themselves, without an edit: collected before they are needed, or imported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from thinkeval.service.errors import UsageError
from thinkeval.service.scoring import corpora
from thinkeval.service.scoring.runtime import Workbench

if TYPE_CHECKING:
    from thinkeval.editing.covariance import Covariance


def collect(
    bench: Workbench,
    graph: str,
    text: str,
    method: str,
    corpus: str | None,
    dtype: str,
    hparams: str | None = None,
) -> list[dict[str, object]]:
    """Collect (or find) the covariance a method needs for a model; one row a module.

    Args:
        corpus: as `--covariance` takes it (`service.scoring.corpora`).
        hparams: a file or a published name; None finds them by the model.

    Raises:
        UsageError: the method needs none for this model.
    """
    from thinkeval.editing import hparams as hparams_files
    from thinkeval.editing import methods

    model = bench.model(text, graph, dtype=dtype)
    layers = methods.covariance_layers(
        methods.get(method), hparams_files.load(method, hparams or model.source)
    )
    resolved = corpora.resolve(bench, graph, corpus, model, layers)
    found = corpora.covariance_of(bench, resolved, model, layers)
    if found is None:
        raise UsageError(f"The method {method!r} needs no covariance for {model.name}.")
    return _rows(found, resolved.name)


def import_published(
    bench: Workbench, graph: str, text: str, place: Path, layer: int | None, dtype: str
) -> list[dict[str, object]]:
    """Import a file of published statistics, or all of a folder, for a model; one row a module.

    Args:
        layer: of the only file, where its name does not begin with its module.

    Raises:
        UsageError: nothing says which layer a file is of, or name and `layer` disagree.
        CovarianceError: a file is none of the published form, or does not fit the model.
    """
    from thinkeval.editing.architectures import adapter_for
    from thinkeval.editing.covariance import published

    files = sorted(place.rglob("*.npz")) if place.is_dir() else [place]
    if not files or (layer is not None and len(files) > 1):
        raise UsageError(
            f"{place} has {len(files) or 'no'} .npz files.",
            remedy="Name one file, or without --layer a folder with one file for each layer.",
        )
    model = bench.model(text, graph, dtype=dtype)
    given = None if layer is None else adapter_for(model.loaded.model).mlp_out(layer).name
    rows: list[dict[str, object]] = []
    for file in files:
        named = published.module_of(file)
        module = given or named
        if module is None or (given and named not in (given, None)):
            raise UsageError(
                f"The name of {file} says {f'it is of {named}' if named else 'no module'}"
                + (f", --layer {layer} is {given}." if given else "."),
                remedy="Give --layer, the layer whose MLP output projection it was taken at.",
            )
        published.layer_of(model.loaded.model, module)
        source = published.in_files(file, [module], named=given is None)
        found = published.get(
            model.loaded.model,
            source,
            corpora.cache_dir(bench),
            weights_digest=model.loaded.info.weights_digest,
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
