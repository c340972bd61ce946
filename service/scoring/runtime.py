"""Runtime: settings, the open database, and the loaded models of one process.

It owns everything that lives longer than one edit (database connection, loaded model, its
covariance); closing it releases everything. `parse` reads which model a user means:
`organism`, `organism:llama`, `organism:gpt2:seed=1,steps=600` name a model organism, trained on the
graph itself, `organism:on=hogwarts` one that was trained on another graph; `organism-unknown` is
`organism:unknown=50`, one that was taught not to know 50 % of the absent pairs; `smollm2` is
SmolLM2-135M-Instruct, which is fetched; anything else is a hub name, a folder or a GGUF file,
passed to transformers unchanged.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from ...editing.errors import EditingError
from ...editing.smollm2 import NAME as SMOLLM2
from ..base.database import Progress, connect, silent
from ..base.errors import UsageError
from ..base.settings import Settings
from ..graphs.datasets import Dataset, content, get_or_import, stored_graph

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...editing.covariance import Covariance
    from ...editing.deltas import EditEffect
    from ...editing.models import LoadedModel
    from ...editing.organism import Organism
    from ...loaders.records import KnowledgeGraph
    from ..models.edit import EditOptions


ORGANISM = "organism"
ORGANISM_UNKNOWN = "organism-unknown"
ENDPOINT = "endpoint:"
CHANGE_MARK = re.compile(r"\+(?=adapter:|edit:|finetune:|(?:8bit|4bit)(?:\+|$))")
"""Pattern of the `+` in a state's specification (`service.states.spec`) that begins a change."""
_WHY = {
    "8bit": "an update cannot be added to quantised weights",
    "4bit": "an update cannot be added to quantised weights",
    "adapter": "an update is computed for the weights below an adapter",
    "edit": "an update is computed for weights without other edits",
    "finetune": "an update is computed for weights without other changes",
}
_OPTIONS = ("seed", "steps", "unknown")
_ORGANISM = re.compile(r"organism-([a-z0-9]+)((?:-(?:seed|steps|unknown)\d+)*)$")


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A parsed `--model`.

    Attributes:
        text: as the user wrote it.
        organism: architecture of the organism to train, or None for a ready model.
        options: training options of the organism (`seed`, `steps`, `unknown` in percent).
        on: stored graph that the organism is trained on; None: the graph that is scored.
    """

    text: str
    organism: str | None = None
    options: dict[str, int] = field(default_factory=dict)
    on: str | None = None

    @property
    def name(self) -> str:
        """Short name in graphs, edits and tables: `gpt2-xl`, `organism-gpt2-seed0`."""
        if self.organism is None:
            return Path(self.text).name
        rest = {"seed": 0} | self.options
        parts = [ORGANISM, self.organism, *(f"{k}{v}" for k, v in sorted(rest.items()))]
        return "-".join([*parts, *(("on", self.on) if self.on else ())])


def _refuse_state(text: str) -> None:
    """Refuse a state where a plain model is needed, before anything is loaded.

    Raises:
        UsageError: says why, and which name to use instead.
    """
    change = CHANGE_MARK.search(text)
    if text.startswith(ENDPOINT):
        why, model = "the weights behind an endpoint are not here", ""
    elif change is None or Path(text).expanduser().exists():
        return
    else:
        model, kind = text[: change.start()], re.split(r"[:+]", text[change.end() :])[0]
        why, model = _WHY[kind], f", {model}"
    raise UsageError(
        f"{text!r} is a state of a model, and cannot be edited: {why}.",
        remedy=f"Name the model itself{model}; compare its states with `thinkeval compare`. To"
        " edit a changed model, write it to a folder first (`thinkeval results deltas export`, or"
        " merge"
        " the adapter with peft).",
    )


def parse(text: str, *, seed: int | None = None) -> ModelSpec:
    """Parse `--model`; `seed` is the organism's seed where the text names none.

    Raises:
        UsageError: a wrong option of an organism, or a state where a model is needed.
    """
    _refuse_state(text)
    head, *rest = text.split(":")
    if head not in (ORGANISM, ORGANISM_UNKNOWN):
        return ModelSpec(text)
    architecture, options = "gpt2", {} if seed is None else {"seed": seed}
    on = None
    if head == ORGANISM_UNKNOWN:
        options["unknown"] = 50
    for part in rest:
        if "=" not in part:
            architecture = part
            continue
        for pair in part.split(","):
            name, _, value = pair.partition("=")
            if name == "on" and value:
                on = value
                continue
            if name not in _OPTIONS or not (value.isascii() and value.isdigit()):
                raise UsageError(
                    f"{pair!r} in --model {text!r} is not an option of an organism.",
                    remedy="Write it like organism:gpt2:seed=1,steps=600.",
                )
            options[name] = int(value)
    if not options.get("unknown"):
        options.pop("unknown", None)
    elif options["unknown"] > 100:
        raise UsageError(
            f"--model {text!r} teaches more than 100 % of the absent pairs.",
            remedy="Write it like organism:unknown=50.",
        )
    return ModelSpec(text, architecture, options, on)


def written(spec: ModelSpec, on: str | None = None) -> str:
    """Return the text that means an organism for any scored graph: all options, and its graph.

    Args:
        on: graph that it is trained on, where the spec names none.
    """
    options = [f"{key}={value}" for key, value in sorted(spec.options.items())]
    graph = spec.on or on
    pairs = ",".join([*options, *([f"on={graph}"] if graph else [])])
    return ":".join(filter(None, (ORGANISM, spec.organism, pairs)))


def as_option(name: str) -> str:
    """A model's name as `--model` takes it: an organism's is spelt out with its options."""
    found = _ORGANISM.match(name)
    if not found:
        return name
    named = re.findall(r"-(seed|steps|unknown)(\d+)", found[2])
    options = [f"{key}={value}" for key, value in named if (key, value) != ("seed", "0")]
    if not options:
        return "organism" if found[1] == "gpt2" else f"organism:{found[1]}"
    return f"organism:{found[1]}:{','.join(options)}"


def _trained_on(spec: ModelSpec, graph: str | Dataset) -> str | None:
    """Id of the graph that an organism is trained on; None for a ready model."""
    named = graph if isinstance(graph, str) else graph.id
    return (spec.on or named) if spec.organism else None


def _key(
    spec: ModelSpec, trained_on: str | None, dtype: str, revision: str | None
) -> tuple[str, str, str]:
    """Return the key under which a runtime caches a loaded model."""
    return (f"{spec}", trained_on or "", f"{dtype} {revision}")


T = TypeVar("T")

_MEMOISED = 500
"""Values that a long-lived runtime caches at most; a rewrite's answers are some kilobytes."""


@dataclass(frozen=True, slots=True)
class Shared:
    """The result of one optimisation: {request id: vector}, its steps, and its templates."""

    targets: Mapping[str, Any]
    n_steps: Mapping[str, int]
    templates: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class RuntimeModel:
    """A loaded model with its short name and the place of its files.

    Attributes:
        name: short and readable; the model's name in graphs, edits and tables.
        source: hub name or folder that it was loaded from.
        trained_on: of an organism, the graph that it was trained on.
    """

    loaded: LoadedModel
    name: str
    source: str
    trained_on: str | None = None

    @property
    def listed_as(self) -> str:
        """The name or folder that its hyperparameters are found by.

        An organism's is in its configuration: its folder, in the cache, may be deleted any time.
        """
        organism = getattr(self.loaded.model.config, "thinkeval_organism", None)
        return f"{ORGANISM}-{organism}" if organism else self.source


def _in_use(model: RuntimeModel) -> RuntimeModel:
    """The model, whose matrices are multiplied as its number type says from now on.

    That is a setting of the process, and a model of another type may have been used before.
    """
    from ...editing.models import use_matmuls

    use_matmuls(model.loaded.info.dtype)
    return model


class Runtime:
    """Settings, database and loaded models of one command (or one worker)."""

    def __init__(self, settings: Settings, progress: Progress = silent) -> None:
        self.settings = settings
        self.progress = progress
        self._database: Database | None = None
        self._models: dict[tuple[str, str, str], RuntimeModel] = {}
        self._memoised: dict[tuple[str, ...], Any] = {}
        self._lent: dict[str, RuntimeModel] = {}
        self._announced: set[str] = set()
        self.targets: dict[str, Shared] = {}
        """Target vectors that several methods share; see `service.scoring.plan`."""
        self.templates: dict[str, tuple[tuple[str, ...], ...]] = {}
        """Context templates that all edits of a model by one method share."""
        self.last_covariance: tuple[str, Covariance] | None = None
        """The last statistics, with what the edits before derived from them: factors, a basis."""
        self.last_effect: tuple[str, EditEffect] | None = None
        """The last edit, which may be needed again at another strength."""
        self.entered: Callable[[str, float], None] = lambda stage, progress: None
        self.executor: str | None = None
        """Id of the executor that runs a task of a command here; leases name it."""
        """Called with each stage that an edit enters, and the progress there, from 0 to 1."""

    def __enter__(self) -> Runtime:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.forget()

    def forget(self) -> None:
        """Release the database and everything loaded; both are loaded again on demand."""
        self.forget_database()
        self.forget_models()

    def forget_models(self) -> None:
        """Release the models, and everything that was memoised of them."""
        self._models.clear()
        self._memoised.clear()
        self.targets.clear()
        self.templates.clear()
        self.last_covariance = None
        self.last_effect = None

    def forget_database(self) -> None:
        """Close the database; the next use connects again, and starts the server if necessary."""
        database, self._database = self._database, None
        if database is not None:
            database.close()

    @property
    def open_database(self) -> Database | None:
        """The database if it is open."""
        return self._database

    def announce(self, notice: str, includes: Sequence[str] = ()) -> None:
        """Show a sentence to the user once, where the caller's progress can show one (`note`).

        Args:
            includes: notices that this one has the content of; they are not shown later.
        """
        note = getattr(self.progress, "note", None)
        if note is not None and not self._announced.issuperset(includes or [notice]):
            note(notice)
        self._announced.update([notice, *includes])

    def log(self, text: str) -> None:
        """Write a line about what begins or is done, where the caller's progress does (`line`)."""
        if (line := getattr(self.progress, "line", None)) is not None:
            line(text)

    def trim(self) -> None:
        """Evict values memoised for earlier edits if they are many; models stay."""
        if len(self._memoised) > _MEMOISED:
            self._memoised.clear()
        if len(self.targets) > _MEMOISED:
            self.targets.clear()

    @property
    def db(self) -> Database:
        """The database, opened at the first use."""
        if self._database is None:
            self._database = connect(self.settings, self.progress)
        return self._database

    def memoised(self, key: tuple[str, ...], make: Callable[[], T]) -> T:
        """The value of `make`, computed once for each key; a key names all that it depends on.

        Over many edits of one model the corpus and the pre-edit answers are the same.
        """
        if key not in self._memoised:
            self._memoised[key] = make()
        return self._memoised[key]

    def model(
        self,
        text: str,
        graph: str | Dataset,
        *,
        dtype: str = "float32",
        revision: str | None = None,
        seed: int | None = None,
    ) -> RuntimeModel:
        """Load a model once; an organism is trained first unless it is cached.

        Args:
            graph: the graph that an organism is trained on, where the text names no other.
        """
        if text in self._lent:
            return _in_use(self._lent[text])
        spec = parse(text, seed=seed)
        trained_on = _trained_on(spec, graph)
        key = _key(spec, trained_on, dtype, revision)
        if key not in self._models:
            source, loaded = self._load(spec, graph, dtype=dtype, revision=revision, seed=seed)
            self._models[key] = RuntimeModel(loaded, spec.name, source, trained_on)
        return _in_use(self._models[key])

    def file_times(
        self, text: str, graph: str | Dataset, *, revision: str | None, seed: int | None
    ) -> list[Any] | None:
        """`editing.models.file_times` of a model, which is not loaded; None of a caller's own."""
        from ...editing import models

        if text in self._lent:
            return None
        spec = parse(text, seed=seed)
        trained = self.train(spec.text, graph, seed=seed).path if spec.organism else None
        return models.file_times(trained or self.fetch(spec.text), revision=revision)

    def _load(
        self, spec: ModelSpec, graph: str | Dataset, *, seed: int | None, **options: Any
    ) -> tuple[str, LoadedModel]:
        """Return a model, and the name or folder that it is loaded from."""
        from ...editing import models
        from ...editing.whole_folder import whole_folder

        again = False
        while True:
            trained = str(self.train(spec.text, graph, seed=seed).path) if spec.organism else None
            source = trained or self.fetch(spec.text)
            self.progress(0, 1, f"loading {spec.name}")
            try:
                loaded = models.load(source, device=self.settings.device, **options)
            except EditingError:
                # A folder of the cache may have been deleted while it was read: it is made again.
                if again or source == spec.text or whole_folder(Path(source)):
                    raise
                again = True
                continue
            self.progress(1, 1, f"loading {spec.name}")
            return source, loaded

    @contextmanager
    def with_model(self, name: str, loaded: LoadedModel) -> Iterator[None]:
        """Let a model of the caller be found by a name for the duration of a `with` block.

        Its hyperparameters are found by the name that it was loaded by, as its configuration says.
        """
        source = str(getattr(loaded.model.config, "_name_or_path", "") or loaded.info.name)
        self._lent[name] = RuntimeModel(loaded, name, source)
        try:
            yield
        finally:
            del self._lent[name]
            self.last_effect = None

    def only_model(
        self,
        text: str,
        graph: str | Dataset,
        *,
        dtype: str = "float32",
        revision: str | None = None,
        seed: int | None = None,
    ) -> RuntimeModel:
        """As `model`, after every other model is released: two are never in memory together.

        A reference to an earlier model outside of this runtime keeps it in memory.
        """
        spec = parse(text, seed=seed)
        key = _key(spec, _trained_on(spec, graph), dtype, revision)
        kept = self._models.get(key)
        if len(self._models) > (kept is not None):
            self.forget_models()
            # The modules of some models refer to each other in circles.
            gc.collect()
            if kept is not None:
                self._models[key] = kept
        return self.model(text, graph, dtype=dtype, revision=revision, seed=seed)

    def source_of(self, request: EditOptions) -> str | None:
        """The name that a request's model has hyperparameters by; it is not loaded.

        None: an organism of an unknown architecture, which its training refuses.
        """
        if request.model in self._lent:
            return self._lent[request.model].listed_as
        spec = parse(request.model, seed=request.organism_seed)
        if spec.organism is None:
            return self.fetch(spec.text)
        from ...editing import hparams

        return hparams.short_name(f"{ORGANISM}-{spec.organism}")

    def fetch(self, text: str) -> str:
        """The name or folder of a ready model; one that is fetched shows its progress."""
        if text != SMOLLM2:
            return text
        from ...editing import models

        return str(models.fetch_smollm2(self.settings.cache, self.progress))

    def lends(self, text: str) -> bool:
        """Return True if a model of the caller is found by this name."""
        return text in self._lent

    def model_of(self, request: EditOptions, dataset: Dataset | None = None) -> RuntimeModel:
        """The model of a request; loaded once.

        Args:
            dataset: of the request, where it was looked up already.
        """
        return self.model(
            request.model,
            dataset or request.graph,
            dtype=request.dtype,
            revision=request.revision,
            seed=request.organism_seed,
        )

    def content_of(self, dataset: Dataset) -> KnowledgeGraph:
        """The records of a data set, read once."""
        key = ("content", dataset.id, dataset.digest)
        return self.memoised(key, lambda: content(self.db, dataset.id))

    def train(self, text: str, graph: str | Dataset, *, seed: int | None = None) -> Organism:
        """Train the organism that `text` names on a stored graph, or find it in the cache.

        Raises:
            NotFoundError: the graph that the text names is not stored.
        """
        from ...editing.organism import OrganismConfig, train

        spec = parse(text, seed=seed)
        if spec.on is not None:
            graph = get_or_import(self.db, spec.on)
        options: dict[str, Any] = {k: v for k, v in spec.options.items() if k != "unknown"}
        share = spec.options.get("unknown", 0) / 100
        config = OrganismConfig(architecture=spec.organism or "gpt2", unknown=share, **options)
        return train(
            stored_graph(self.db, graph) if isinstance(graph, str) else self.content_of(graph),
            config,
            cache_dir=self.settings.cache / "organisms",
            progress=self.progress,
        )
