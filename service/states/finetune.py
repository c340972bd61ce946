"""A fine-tune as a saved update: computed on the state so far, stored beside the edits' updates.

Its id is a digest of the base's weights, the updates before it, its texts and its settings, so that
it is found instead of trained twice. It can be applied after the very updates that it was computed
on (`DeltaMeta.after`), and is a state, an export or part of one like any saved edit.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...loaders.records import SUBJECT_SLOT, digest, slug
from .. import NUMBERS_VERSION
from ..base.errors import UsageError
from ..graphs.datasets import read_apart
from ..scoring import deltas
from ..scoring.runtime import parse
from .spec import FINE_TUNE, GRAPH, FineTune, parse_fine_tune

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...cypher.run import Database
    from ...editing.deltas.files import SavedDelta
    from ...editing.training.settings import Pairs
    from ...loaders.records import RewriteRequest
    from ..graphs.datasets import Dataset
    from ..scoring.runtime import Runtime, RuntimeModel
    from .schemas import ComparisonIn
    from .spec import StateIn


PREFIX = "finetune-"
METHOD = "finetune"
MOST_FACTS = 10_000
SUFFIX = ".jsonl"
_FORM = 'Each line is {"text": "..."} or {"prompt": "The capital of France is", "answer": "Paris"}.'


@dataclass(frozen=True, slots=True)
class Learnt:
    """The texts that a fine-tune learns.

    Attributes:
        name: of the file, without folders, or of the graph.
    """

    name: str
    pairs: Pairs


@dataclass(frozen=True, slots=True)
class Trained:
    """A fine-tune's saved update.

    Attributes:
        found: it was trained earlier.
        n: texts that it learnt.
    """

    id: str
    found: bool
    n: int


@dataclass(frozen=True, slots=True)
class ResolvedState:
    """A state whose fine-tunes are saved updates.

    Attributes:
        updates: ids of the saved updates of its fine-tunes.
    """

    state: StateIn
    updates: tuple[str, ...] = ()


def require_all(
    runtime: Runtime, posted: ComparisonIn, rewrites: Sequence[RewriteRequest]
) -> dict[str, Learnt]:
    """The texts of all fine-tunes of a comparison, by the fine-tune as it is written.

    Everything is checked before a model is loaded: saved edits, texts, packages, room.

    Args:
        rewrites: the requests; a fine-tune on the graph learns no fact that shares an entity with
            them.

    Raises:
        NotFoundError, NothingStoredError: an edit that is not stored, or has no saved update.
        UsageError: a file that cannot be read.
        MissingExtraError, DeltaError, ModelLoadError: as `require`.
    """
    names = {
        name
        for each in rewrites
        for name in (each.subject, each.target_true, each.target_new)
        if name
    }
    learnt: dict[str, Learnt] = {}
    for state in (posted.base, *posted.states):
        for text in state.edits:
            if not text.startswith(FINE_TUNE):
                deltas.find(runtime, text)
                continue
            change = parse_fine_tune(text)
            if text not in learnt:
                learnt[text] = (
                    of_graph(runtime.db, posted.graph, sorted(names))
                    if change.of_graph
                    else read_apart(read, Path(change.source).expanduser())
                )
            require(runtime, state, change, learnt[text], force=posted.force)
    return learnt


def resolve(
    runtime: Runtime,
    dataset: Dataset,
    posted: ComparisonIn,
    state: StateIn,
    learnt: Mapping[str, Learnt],
    notes: list[str],
) -> ResolvedState:
    """A state with the id of a saved update in place of each fine-tune, trained or found.

    Args:
        learnt: of `require_all`.
        notes: gets a sentence for each fine-tune.

    Raises:
        as `trained`.
    """
    made: list[str] = []
    updates: list[str] = []
    for text in state.edits:
        if text.startswith(FINE_TUNE):
            change, texts = parse_fine_tune(text), learnt[text]
            base = runtime.only_model(
                state.model, dataset, dtype=posted.dtype, revision=state.revision,
                seed=posted.organism_seed,
            )  # fmt: skip
            so_far = state.model_copy(update={"edits": tuple(made)})
            done = trained(
                runtime, base, so_far, change, texts, graph=posted.graph, force=posted.force
            )
            named = "Facts of the graph" if change.of_graph else f"Texts of {texts.name}"
            found = " (found, not trained again)" if done.found else ""
            notes.append(f"{named} learnt: {done.n:,}; the update is saved as {done.id}{found}.")
            text = done.id
            updates.append(text)
        made.append(text)
    return ResolvedState(state.model_copy(update={"edits": tuple(made)}), tuple(updates))


def of_graph(db: Database, graph: str, entities: list[str]) -> Learnt:
    """The facts of a graph that name none of these entities, by id.

    Raises:
        UsageError: there is none.
    """
    found = db.read(
        rows.RetainRow, "probes/retain", graph=graph, entities=entities, limit=MOST_FACTS
    )
    if not found:
        raise UsageError(
            f"Every fact of the graph {graph!r} shares an entity with the requests.",
            remedy="Name a file: finetune:FILE.",
        )
    pairs = tuple((row.prompt.replace(SUBJECT_SLOT, row.subject, 1), row.object) for row in found)
    return Learnt(GRAPH, pairs)


def read(path: Path) -> Learnt:
    """The texts of a file: its paragraphs where blank lines part them, else its lines; or JSON.

    Raises:
        UsageError: it cannot be read or is empty; names the line of JSON.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"The file {path.name!r} to learn from cannot be read ({error}).",
            remedy="Give a text file or JSON lines in UTF-8; options follow it as :steps=200.",
        ) from error
    if path.suffix == SUFFIX:
        lines = text.splitlines()
        pairs = tuple(_pair(path, n, line) for n, line in enumerate(lines, 1) if line.strip())
    else:
        whole = "\n".join(line.strip() for line in text.splitlines()).strip("\n")
        parts = whole.split("\n\n") if "\n\n" in whole else whole.split("\n")
        pairs = tuple(("", part.strip()) for part in parts if part.strip())
    if not pairs:
        raise UsageError(
            f"The file {path.name!r} to learn from is empty.",
            remedy="Give one with a line or a paragraph for each example.",
        )
    return Learnt(path.name, pairs)


def _pair(path: Path, number: int, line: str) -> tuple[str, str]:
    try:
        record = json.loads(line)
        pair = ("", record["text"]) if "text" in record else (record["prompt"], record["answer"])
        texts = tuple(text.strip() for text in pair)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"Line {number} of {path.name} is neither a text nor a prompt with an answer.",
            remedy=_FORM,
        ) from error
    if not texts[1] or ("text" not in record and not texts[0]):
        raise UsageError(f"Line {number} of {path.name} has an empty text.", remedy=_FORM)
    return texts[0], texts[1]


def trained(
    runtime: Runtime,
    base: RuntimeModel,
    state: StateIn,
    change: FineTune,
    learnt: Learnt,
    *,
    graph: str,
    force: bool = False,
) -> Trained:
    """The update of a fine-tune of a state, trained or found.

    Args:
        base: the model of the state; it is as it was on return, bit-identically.
        state: with saved edits; its adapter and its quantisation are left out.
        graph: id of the data set's graph.
        force: train it again.

    Raises:
        EditFailedError: the training gave NaN.
        DeltaError: the update would be larger than THINKEVAL_DELTA_LIMIT_MB.
        MissingExtraError: low-rank factors without peft.
        RequestError: there is nothing to learn.
    """
    before = [deltas.read(runtime, name) for name in state.edits]
    after = tuple(each.digest for each in before)
    about = {
        "model": base.loaded.info.digest,
        "after": after,
        "texts": digest(learnt.pairs, 64),
        "settings": change.settings.as_dict(),
        "code": NUMBERS_VERSION,
    }
    id = f"{_named(learnt)}-{digest(about, 10)}"
    found = deltas.path_of(runtime.settings, id).is_file() and not force
    if not found:
        _train(runtime, base, state, graph, before, change, learnt, id)
    return Trained(id, found, len(learnt.pairs))


def _train(
    runtime: Runtime,
    base: RuntimeModel,
    state: StateIn,
    graph: str,
    before: list[SavedDelta],
    change: FineTune,
    learnt: Learnt,
    id: str,
) -> None:
    from ...editing.deltas import files
    from ...editing.training.finetune import fine_tuned

    _require_room(runtime, base.loaded.model, change)
    loaded = base.loaded
    with files.apply_in_order(loaded.model, before, loaded.info.inputs):
        effect = fine_tuned(
            loaded.model, loaded.tokenizer, learnt.pairs, change.settings, runtime.progress
        )
    meta = files.DeltaMeta(
        weights_digest=loaded.info.weights_digest,
        inputs=loaded.info.inputs,
        method=METHOD,
        hparams=_hparams(change, learnt),
        seed=change.settings.seed,
        model=before[0].meta.model if before else state.model,
        dataset=before[0].meta.dataset if before else graph,
        revision=loaded.info.revision,
        dtype=loaded.info.dtype,
        architecture=loaded.info.architecture,
        after=tuple(each.digest for each in before),
        edit=id,
    )
    files.save(effect, deltas.path_of(runtime.settings, id), meta)


def _hparams(change: FineTune, learnt: Learnt) -> dict[str, Any]:
    texts = {"source": learnt.name, "texts": digest(learnt.pairs, 64), "n": len(learnt.pairs)}
    return change.settings.as_dict() | texts


def require(
    runtime: Runtime, state: StateIn, change: FineTune, learnt: Learnt, *, force: bool = False
) -> None:
    """Refuse, before its model is loaded, a fine-tune without its package or too large to be saved.

    The size follows from the model's configuration; that of an organism is known once it is
    trained, and a fine-tune of these texts that is saved may be found instead of trained.

    Raises:
        MissingExtraError: low-rank factors without peft.
        DeltaError: the update would be larger than THINKEVAL_DELTA_LIMIT_MB.
        ModelLoadError: the model's configuration cannot be read.
    """
    from ...editing import models
    from ...editing.training.finetune import require_package

    if change.settings.lora is not None:
        require_package()
    folder = deltas.path_of(runtime.settings, PREFIX).parent
    saved = not force and any(folder.glob(f"{_named(learnt)}-*"))
    if not saved and parse(state.model).organism is None:
        model = models.skeleton_of(state.model, revision=state.revision)
        _require_room(runtime, model, change)


def _named(learnt: Learnt) -> str:
    """The beginning of the ids of fine-tunes of these texts."""
    return f"{PREFIX}{slug(Path(learnt.name).stem)[:32]}"


def _require_room(runtime: Runtime, model: Any, change: FineTune) -> None:
    """Refuse, before it is trained, an update that is too large to be saved."""
    from ...editing.errors import DeltaError
    from ...editing.training.finetune import n_trained

    size = 4 * n_trained(model, change.settings) / 1_000_000
    limit = runtime.settings.delta_limit_mb
    if size > limit:
        raise DeltaError(
            f"the update of this fine-tune has up to {size:.0f} MB, more than the limit of"
            f" {limit} MB",
            remedy="Train low-rank factors, :lora=8, or raise THINKEVAL_DELTA_LIMIT_MB.",
        )
