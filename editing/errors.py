"""Errors of loading, probing and editing models. Imports no torch."""

from __future__ import annotations


class EditingError(Exception):
    """A model could not be loaded, probed or edited.

    Attributes:
        detail: the problem and its location (model, request, layer).
        remedy: the next action for the user.
    """

    remedy = "Run `thinkeval doctor`, and check the model with `thinkeval probe`."

    def __init__(self, detail: str, *, remedy: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        if remedy is not None:
            self.remedy = remedy


class ModelLoadError(EditingError):
    """The model or its tokenizer could not be loaded."""

    remedy = (
        "Give a hub name, a GGUF file, or a folder with config.json, weights and tokenizer files."
    )


class FetchError(ModelLoadError):
    """A model could not be fetched from anywhere."""


class UnsupportedArchitectureError(EditingError):
    """There is no adapter for this architecture."""

    remedy = "Add one file to editing/architectures/, or use a supported model."


class AdapterMismatchError(UnsupportedArchitectureError):
    """An adapter computes other logits than its model, so its edits would be wrong."""

    remedy = (
        "Complete the architecture's file in editing/architectures/: module paths, and the "
        "function `logits` if the model changes its head's output. Probing needs no adapter."
    )


class UnknownMethodError(EditingError):
    """There is no editing method of that name."""

    remedy = "`thinkeval model methods` lists the methods."


class HparamsError(EditingError):
    """A hyperparameter file is missing, or has an unknown, missing or wrongly typed key."""

    remedy = "`thinkeval model methods NAME` shows the keys; pass a file with --hparams."


class RequestError(EditingError):
    """A rewrite request is invalid."""

    remedy = "The prompt needs {} in the subject's place, and target_new must not be empty."


class EditFailedError(EditingError):
    """The method found no usable update (NaN, exploding loss, singular system)."""

    remedy = (
        "Lower the step size (v_lr or lr), or check the covariance; see `thinkeval model methods`."
    )


class UnknownFactError(EditingError):
    """The model does not know the fact that the edit would replace; nothing was edited."""

    remedy = "`thinkeval probe GRAPH --model MODEL` lists the rewrites whose fact is known."


class CovarianceError(EditingError):
    """The covariance is missing, belongs to another model, or has the wrong size."""

    remedy = "Collect it with `thinkeval model covariance`."


class DeltaError(EditingError):
    """A saved edit cannot be read, saved, or used with this model."""

    remedy = "Compute the edit again for this model with `thinkeval score --force`."


class PeftAdapterError(EditingError):
    """A PEFT adapter cannot be read, or does not fit the model."""

    remedy = "Name the folder that peft wrote: adapter_config.json and adapter_model.safetensors."


class MissingExtraError(EditingError):
    """An optional package is not installed."""

    remedy = "Install the extra that the message names."


class TaskError(EditingError):
    """A task of lm-eval is missing, or cannot be asked."""

    remedy = (
        "Name a task that lm-eval has (`lm-eval ls tasks`), whose data are fetched from the hub, or"
        " a task file of your own with data in files (docs/how-to/tasks.md)."
    )


class HypernetworkError(EditingError):
    """MEND's hypernetwork is missing, belongs to another model, or could not be trained."""

    remedy = "Train it with `thinkeval model train-mend`."


class ProbeError(EditingError):
    """The model's answers could not be measured."""

    remedy = (
        "Numbers of a model in float16 can overflow: load it with --dtype float32. If the model "
        "gives NaN after an edit only, the edit destroyed it: lower its strength."
    )


class DeviceMemoryError(EditingError):
    """The device has too little memory even for the smallest batch."""

    remedy = "Use --dtype bfloat16, --device cpu, or a smaller model."


class OrganismError(EditingError):
    """The organism could not be trained, or does not recall enough facts of its graph."""

    remedy = "Train longer (--steps), or use another --seed."
