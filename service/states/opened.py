"""Open a state: a model with everything that is put on it, ready to be asked, then restored.

    with load_state(runtime, parse("organism+edit:E"), dataset) as state:
        answers = state.ask(questions, settings)

A base is loaded once for all its states; before another base is loaded, the earlier one is
released, so that two of them are never in memory together. On exit the base is as it was,
bit-identically.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...loaders.records import digest
from ..graphs.datasets import Dataset
from ..scoring import deltas
from ..scoring.probe import Answer, Progress, Question, probe
from ..scoring.runtime import Runtime, RuntimeModel
from . import endpoint
from .schemas import OpenState, StateOut
from .spec import FINE_TUNE, StateIn

if TYPE_CHECKING:
    from ...editing.deltas.files import SavedDelta
    from ...editing.models import LoadedModel
    from ...editing.probe import ProbeSettings


@dataclass(frozen=True)
class InMemory:
    """A state from Python: a transformers model with its tokenizer, left as it was."""

    model: Any
    tokenizer: Any
    name: str = "model in memory"


@dataclass(frozen=True, slots=True)
class LoadedState:
    """A state whose weights are in this process.

    Attributes:
        loaded: the model with everything put on it.
    """

    about: StateOut
    loaded: LoadedModel

    def ask(
        self,
        questions: Sequence[Question],
        settings: ProbeSettings,
        *,
        progress: Progress | None = None,
    ) -> list[Answer]:
        """Answers to questions, one each, in order, by all measures of the settings."""
        return probe(self.loaded, questions, settings, progress=progress)


@contextmanager
def load_state(
    runtime: Runtime,
    state: StateIn | InMemory,
    dataset: Dataset,
    *,
    dtype: str = "float32",
    organism_seed: int | None = None,
) -> Iterator[OpenState]:
    """Open a state for the duration of a `with` block; its base is restored bit-identically.

    Args:
        dataset: what an organism is trained on, where its name tells no other graph.
        dtype: number type that the base is loaded in.
        organism_seed: of an organism whose name tells none.

    Raises:
        EditingError: no such model, weights with NaN, a model that cannot be asked in batches, or
            an edit or adapter that was made for other weights.
        NotFoundError, NothingStoredError: no such edit, or its update is not saved here.
        EndpointError: the server does not answer.
        UsageError: the server does not sample.
    """
    if isinstance(state, InMemory):
        with _in_memory(runtime, state) as memory:
            yield memory
        return
    if state.endpoint is not None:
        with endpoint.opened(runtime, state, state.endpoint) as served:
            yield served
        return
    base = runtime.only_model(
        state.model, dataset, dtype=dtype, revision=state.revision, seed=organism_seed
    )
    _require_usable(runtime, base.loaded)
    with ExitStack() as stack:
        about = _of_base(state, base)
        if state.edits:
            about = stack.enter_context(_edited(runtime, state, base, about))
        if state.adapter:
            about = stack.enter_context(_adapted(state, base, about))
        if state.quantized:
            about = stack.enter_context(_quantized(state.quantized, base, about))
        yield LoadedState(about, base.loaded)


def file_times(
    runtime: Runtime, state: StateIn, dataset: Dataset, organism_seed: int | None
) -> list[Any] | None:
    """Path, size and time of change of all files of a state, which are not read.

    A fine-tune is its text. None of a state whose weights may change without them: behind an
    endpoint, or a model of the caller.
    """
    from ...editing.models import times_of

    if state.endpoint is not None:
        return None
    base = runtime.file_times(state.model, dataset, revision=state.revision, seed=organism_seed)
    if base is None:
        return None
    edits = [
        edit if edit.startswith(FINE_TUNE) else times_of(deltas.find(runtime, edit))
        for edit in state.edits
    ]
    adapter = times_of(Path(state.adapter).expanduser()) if state.adapter else None
    return [base, edits, adapter]


def require_packages(state: StateIn, device: str) -> None:
    """Refuse a state whose adapter or quantisation needs an absent package, before it is loaded.

    Raises:
        MissingExtraError: names the package, and the extra that installs it.
    """
    from ...editing.states import adapter, quantized

    if state.adapter:
        adapter.require_package()
    if state.quantized:
        quantized.require_package(state.quantized, device)


def _of_base(state: StateIn, base: RuntimeModel) -> StateOut:
    """The record of a base without changes."""
    info = base.loaded.info
    about: dict[str, Any] = {
        "model": info.name if base.trained_on is None else base.name,
        "dtype": info.dtype,
        "device": info.device,
        "architecture": info.architecture,
        "n_parameters": info.n_parameters,
        "weights_digest": info.weights_digest,
    }
    if info.revision:
        about["revision"] = info.revision
    if base.trained_on:
        about["trained_on"] = base.trained_on
    return StateOut(
        spec=state.spec,
        name=state.named(base.name),
        kind="model",
        digest=info.digest,
        about=about,
    )


@contextmanager
def _edited(
    runtime: Runtime, state: StateIn, base: RuntimeModel, about: StateOut
) -> Iterator[StateOut]:
    """Apply the state's saved edits, in order."""
    from ...editing.deltas.files import apply_in_order
    from ...editing.models import state_digest, weights_digest
    from ...editing.states.finite import require_finite

    saved = [deltas.read(runtime, name) for name in state.edits]
    model = base.loaded.model
    with apply_in_order(model, saved, base.loaded.info.inputs):
        require_finite(model, state.spec)
        yield about.model_copy(
            update={
                "kind": "edited",
                "digest": state_digest(base.loaded),
                "base_digest": about.digest,
                "about": about.about
                | {
                    "weights_digest": weights_digest(model),
                    "edits": [_record(item) for item in saved],
                },
            }
        )


@contextmanager
def _adapted(state: StateIn, base: RuntimeModel, about: StateOut) -> Iterator[StateOut]:
    """Put a PEFT adapter on the base, after the state's edits: those change the base's weights.

    Weights that are quantised afterwards are those with the adapter merged into them.
    """
    from ...editing.states import adapter

    saved = adapter.read(state.adapter or "")
    with adapter.adapted(base.loaded, saved, merged=state.quantized is not None):
        yield about.model_copy(
            update={
                "kind": "adapter",
                "digest": digest([about.digest, saved.digest], 64),
                "base_digest": about.base_digest or about.digest,
                "about": about.about | {"adapter": saved.about(base.loaded.info.name)},
            }
        )


@contextmanager
def _quantized(
    bits: Literal["8bit", "4bit"], base: RuntimeModel, about: StateOut
) -> Iterator[StateOut]:
    """Quantise the weights as they are now."""
    from ...editing.states.quantized import quantized

    with quantized(base.loaded, bits) as found:
        yield about.model_copy(
            update={
                "kind": "quantized",
                "digest": digest([about.digest, found["scheme"]], 64),
                "base_digest": about.base_digest or about.digest,
                "about": about.about | {"quantisation": found},
            }
        )


def _record(saved: SavedDelta) -> dict[str, Any]:
    """Return the entry of one edit in a state's record."""
    return {"edit": saved.meta.edit, "method": saved.meta.method, "digest": saved.digest}


@contextmanager
def _in_memory(runtime: Runtime, state: InMemory) -> Iterator[LoadedState]:
    """A user's own model and tokenizer, which are as they were on exit."""
    from ...editing.states.memory import borrowed

    with borrowed(state.model, state.tokenizer, state.name) as loaded:
        _require_usable(runtime, loaded)
        info = loaded.info
        about = {
            "dtype": info.dtype,
            "device": info.device,
            "architecture": info.architecture,
            "n_parameters": info.n_parameters,
            "weights_digest": info.weights_digest,
        }
        record = StateOut(
            spec=state.name,
            name=state.name,
            kind="memory",
            digest=info.digest,
            about=about,
        )
        yield LoadedState(record, loaded)


def _require_usable(runtime: Runtime, loaded: LoadedModel) -> None:
    """Refuse weights with NaN, and models that cannot be asked in batches; once for each model."""
    from ...editing.states.batched import require_batches
    from ...editing.states.finite import require_finite

    def check() -> None:
        require_finite(loaded.model, loaded.info.name)
        require_batches(loaded)

    runtime.memoised(("usable", loaded.info.digest), check)
