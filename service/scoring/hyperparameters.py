"""Hyperparameters: those of a file, or a suggestion for a model without a file.

Every command finds them by `chosen`; `thinkeval hparams suggest` prints a suggestion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...editing import architectures, hparams
from ...editing.errors import HparamsError
from ...editing.hparams.suggestion import Suggestion, for_config
from .runtime import Runtime, RuntimeModel


@dataclass(frozen=True, slots=True)
class Chosen:
    """The hyperparameters that a method runs with.

    Attributes:
        notice: says that they are a suggestion, for the output and the record; None where a file
            was named or ships.
    """

    values: Any
    notice: str | None = None


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
        return Chosen(hparams.load(method, source, overrides))
    suggestion = for_config(method, config())
    values = hparams.from_values(
        method, suggestion.values, overrides, source=f"suggestion for {method!r}"
    )
    notice = suggestion.notice(name)
    if notice is not None:
        runtime.announce(notice)
    return Chosen(values, notice)


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
        named: a file or a published name; None finds them by the model.
    """
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
