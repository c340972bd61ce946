"""Starting hyperparameters for a model, from its configuration: `thinkeval hparams suggest`."""

from __future__ import annotations

from dataclasses import dataclass

from ...editing import architectures, hparams
from ...editing.errors import HparamsError
from ...editing.hparams.suggestion import Suggestion, suggest

BEYOND_REACH = (
    "The architecture normalises the MLP's output before it is added, so MEMIT and its family do",
    "not reach all of z: `residual_left` in an edit's record is the fraction that is left.",
)


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
    suggestion = suggest(method, config.model_type, n_layers)
    notes = [f"The model: {config.model_type}, {n_layers} layers, d_model {text.hidden_size}."]
    if layout.post_norm is not None and "mom2_update_weight" in suggestion.values:
        notes += BEYOND_REACH
    try:
        shipped = hparams.file_for(method, model)
        notes.append(f"A file for this model ships, {method}/{shipped}.json; it is the default.")
    except HparamsError:
        pass
    return ForModel(model, suggestion, tuple(notes))
