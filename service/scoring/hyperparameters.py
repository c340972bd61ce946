"""Hyperparameters: those of a file, or a suggestion for a model without a file.

Every command finds them by `chosen`; `thinkeval hparams suggest` prints a suggestion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...editing import architectures, hparams, registry
from ...editing.errors import HparamsError
from ...editing.hparams.suggestion import Suggestion, for_config
from ..base.errors import UsageError
from .runtime import Runtime, RuntimeModel

# The files of `--hparams`: several, each of one method, or a folder with a file for each method.

SUFFIXES = (".json", ".yaml", ".yml")
_HEADER = re.compile(r"# Starting point for (\w+) on ")
"""The first line of a file that `thinkeval hparams suggest` writes."""


def by_method(methods: Sequence[str], named: Sequence[str]) -> dict[str, str]:
    """The file, or the published name, that `--hparams` has for each method; some may have none.

    A file is of the method that its name or its first line says, else of each that takes its keys.

    Raises:
        UsageError: a file is of none of the methods, or a method has two.
        HparamsError: a file cannot be read.
    """
    found: dict[str, str] = {}
    for text in named:
        matched = {m: file for file in _files(text) for m in _methods_of(file, methods, text)}
        if not matched:
            raise UsageError(
                f"--hparams {text} has hyperparameters of none of the methods"
                f" {', '.join(methods)}.",
                remedy="Name the file by its method (memit.yaml), or give that method with -m;"
                " `thinkeval methods NAME` lists the keys that a file must have.",
            )
        for method, file in matched.items():
            if method in found:
                raise UsageError(
                    f"--hparams has two sources for {method}: {found[method]} and {file}.",
                    remedy="Leave one out, or name each file by its method (memit.yaml).",
                )
            found[method] = file
    return found


def source_for(method: str, named: str | None) -> str | None:
    """A method's file or published name: as named, or in a named folder, which may have none."""
    if named is None or not _is_folder(named):
        return named
    return next((f for f in _files(named) if _methods_of(f, [method], named)), None)


def _is_folder(text: str) -> bool:
    """Return True for a folder of hyperparameter files; one of a model names published ones."""
    path = Path(text).expanduser()
    return path.is_dir() and not (path / "config.json").is_file()


def _files(text: str) -> list[str]:
    if not _is_folder(text):
        return [text]
    found = sorted(Path(text).expanduser().iterdir())
    return [str(path) for path in found if path.suffix in SUFFIXES]


def _methods_of(file: str, methods: Sequence[str], named: str) -> list[str]:
    """Those of the methods that a file, named itself or in a folder, has hyperparameters of."""
    path = Path(file).expanduser()
    if path.suffix not in SUFFIXES:  # a published name
        return list(methods)
    stem = path.stem.lower().replace("-", "_")
    own = {m for m in registry.names() if re.search(f"(?<![a-z]){m}(?![a-z])", stem)}
    if len(own) != 1 and path.is_file():
        own = set(_HEADER.findall(path.read_text(encoding="utf-8", errors="replace")[:200]))
    if len(own) == 1:
        return [method for method in methods if method in own]
    if file == named and len(methods) == 1:
        return list(methods)  # an error in it is raised when it is read
    values = hparams.read(path)
    return [method for method in methods if _takes(method, values)]


def _takes(method: str, values: Mapping[str, Any]) -> bool:
    try:
        hparams.from_values(method, values, None, source="")
    except HparamsError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Chosen:
    """The hyperparameters that a method runs with.

    Attributes:
        notice: says that they are a suggestion, for the output and the record; None where a file
            was named or ships.
        corpus: that the file names as the source of its authors' statistics, if it names one.
    """

    values: Any
    notice: str | None = None
    corpus: str | None = None


def chosen(
    runtime: Runtime,
    method: str,
    source: str,
    overrides: Mapping[str, Any],
    *,
    name: str | None,
    config: Callable[[], Any],
) -> Chosen:
    """The hyperparameters of a method: of the file that a source names, or suggested.

    A suggestion is announced.

    Args:
        source: a file, or the name or folder of a model.
        overrides: keys that replace those values.
        name: of the model, for the notice; None: the source is a user's choice, and must exist.
        config: the model's configuration; read only where no file is found.

    Raises:
        HparamsError: an unreadable file; or a key that is unknown, or of a wrong type.
        ModelLoadError: the configuration cannot be read.
    """
    if name is None or not hparams.without_file([method], source):
        stored, origin = hparams.stored(method, source)
        values = hparams.from_values(method, stored, overrides, source=origin)
        return Chosen(values, corpus=stored.get("mom2_dataset"))
    suggestion = for_config(method, config())
    values = hparams.from_values(
        method, suggestion.values, overrides, source=f"suggestion for {method!r}"
    )
    notice = suggestion.notice(name)
    if notice is not None:
        runtime.announce(notice)
    return Chosen(values, notice)


CONSTANTS = {"nullspace_threshold": "nullspace_rank=0.7", "mom2_update_weight": "update_share=0.95"}
"""Published constants whose size is that of a covariance, and the rule in place of each."""


def of_another_corpus(
    method: str, found: Chosen, overrides: Mapping[str, Any], corpus: str
) -> str | None:
    """A notice where published constants meet a covariance of other texts than their authors'.

    Args:
        overrides: a constant among these is the user's own.
        corpus: the name of the covariance's source; one that has the name of the authors' fits.
    """
    key = next((key for key in CONSTANTS if hasattr(found.values, key)), None)
    if found.corpus is None or key is None or key in overrides or found.corpus in corpus.lower():
        return None
    value = getattr(found.values, key)
    if value is None:
        return None
    return (
        f"{key} {value:g} of {method} is published for a covariance of {found.corpus}, and this one"
        f" is of {corpus}: the edit may install too little or too much. Use their covariance"
        " (`thinkeval covariance import --help`), or the rule in place of the constant, --set"
        f" {CONSTANTS[key]}."
    )


BEYOND_REACH = (
    "The architecture normalises the MLP's output before it is added, so MEMIT and its family do",
    "not reach all of z: `residual_left` in an edit's record is the fraction that is left.",
)


def chosen_for(
    runtime: Runtime,
    method: str,
    model: RuntimeModel,
    named: str | None,
    overrides: Mapping[str, Any] | None = None,
) -> Any:
    """The hyperparameters of a method for a loaded model, as `chosen`.

    Args:
        named: a file, a folder of files or a published name; None finds them by the model.
    """
    named = source_for(method, named)
    found = chosen(
        runtime,
        method,
        named or model.source,
        overrides or {},
        name=None if named else model.name,
        config=lambda: model.loaded.model.config,
    )
    return found.values


@dataclass(frozen=True)
class ForModel:
    """A suggestion, with the notes that a user of this model needs."""

    model: str
    suggestion: Suggestion
    notes: tuple[str, ...]

    def as_yaml(self) -> str:
        """A file for `--hparams`."""
        return self.suggestion.as_yaml(self.model, self.notes)


def for_model(model: str, method: str, revision: str | None = None) -> ForModel:
    """Starting hyperparameters of a method for a hub model or a local folder; loads no weights.

    Raises:
        ModelLoadError: its configuration cannot be read.
        UnsupportedArchitectureError: its architecture has no adapter.
        HparamsError: the method needs none.
    """
    from ...editing import models  # torch; `--help` should not wait for it

    config = models.config_of(model, revision=revision)
    layout = architectures.layout_for(config, config.model_type)
    text = config.get_text_config()
    n_layers = int(text.num_hidden_layers)
    suggestion = for_config(method, config)
    notes = [f"The model: {config.model_type}, {n_layers} layers, d_model {text.hidden_size}."]
    if layout.post_norm is not None and "update_share" in suggestion.values:
        notes += BEYOND_REACH
    try:
        shipped = hparams.file_for(method, model)
        notes.append(f"A file for this model ships, {method}/{shipped}.json; it is the default.")
    except HparamsError:
        pass
    return ForModel(model, suggestion, tuple(notes))
