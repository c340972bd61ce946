"""Hyperparameters: those of a file, or a suggestion for a model without a file.

Every command finds them by `chosen`; `thinkeval model hparams suggest` prints a suggestion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from ...editing import architectures, hparams, registry
from ...editing.atomic_write import whole_file
from ...editing.errors import HparamsError
from ...editing.hparams.suggestion import Suggestion, for_config, notice
from ...loaders.reading.sources import small_text
from ..base.errors import UsageError
from ..base.formatting import percent, short
from .runtime import Runtime, RuntimeModel

if TYPE_CHECKING:
    from ..base.settings import Settings


# The files of `--hparams`: several, each of one method, or a folder with a file for each method.

_HEADER = re.compile(r"# Starting point for (\w+) on ")
"""The first line of a file that `thinkeval model hparams suggest` writes."""


def by_method(methods: Sequence[str], named: Sequence[str]) -> dict[str, str]:
    """The file, or the published name, that `--hparams` has for each method; some may have none.

    A file is of the method that its name, first line or `alg_name` says, else of each that takes
    its keys.

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
                " `thinkeval model methods NAME` lists the keys that a file must have.",
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
    return [str(path) for path in found if path.suffix in hparams.FILES]


def _beginning(path: Path) -> str:
    try:
        return small_text(path)[:200]
    except UnicodeDecodeError:
        return ""  # an error in it is raised when it is read


def _methods_of(file: str, methods: Sequence[str], named: str) -> list[str]:
    """Those of the methods that a file, named itself or in a folder, has hyperparameters of."""
    path = Path(file).expanduser()
    if path.suffix not in hparams.FILES:  # a published name
        return list(methods)
    stem = path.stem.lower().replace("-", "_")
    own = {m for m in registry.names() if re.search(f"(?<![a-z]){m}(?![a-z])", stem)}
    if len(own) != 1 and path.is_file():
        own = set(_HEADER.findall(_beginning(path)))
    if len(own) == 1:
        return [method for method in methods if method in own]
    if file == named and len(methods) == 1:
        return list(methods)  # an error in it is raised when it is read
    values = hparams.read(path)
    if (stated := hparams.method_of(values)) is not None:
        return [method for method in methods if method == stated]
    return [method for method in methods if _takes(method, values)]


def _takes(method: str, values: Mapping[str, Any]) -> bool:
    try:
        hparams.from_values(method, values, None, source="")
    except HparamsError:
        return False
    return True


# The results of `thinkeval model tune` (`service.scoring.tuning`), one file for each method, model
# state and graph. They are found by the state's digest, so by a copy under another name too.

FOLDER = "tuned"


class Tuned(BaseModel):
    """A tuned setting of a method, or that no setting was found.

    Attributes:
        state: digest of the model as it is asked.
        graph: whose facts were edited; `content` is its digest.
        values: all hyperparameters; of a failure, those of the highest efficacy without ruin.
        changed: those that differ from where the search began.
        reached: True if the setting reached, and the facts that are held out took, too.
        efficacy: mean over `n` facts; `least` is the lowest.
        kl: mean KL divergence a token on the model's own texts; null where no text is left.
        kept: mean of min(r, 1/r), r = p_post / p_pre, of known facts around those that were
            edited; null where there is none.
        held_out: efficacy on facts that did not decide; empty for a failure, or interrupted.
        interrupted: by the user: the best setting so far.
        edits: that were computed; a target that was found before is not computed again.
        settings: that were tried.
        covariance: the source of the statistics; null where the method needs none.
    """

    method: str
    model: str
    state: str
    graph: str
    content: str
    values: dict[str, Any]
    changed: dict[str, Any]
    reached: bool
    efficacy: float
    least: float
    n: int
    kl: float | None
    kept: float | None = None
    held_out: list[float]
    interrupted: bool
    edits: int
    settings: int
    facts: list[str]
    covariance: str | None
    seed: int
    dtype: str
    seconds: float
    version: str
    created_at: str

    @property
    def measured(self) -> str:
        """The result in words, each mean with its n."""
        held = (
            "" if not self.held_out else f", {short(self._held)} on {len(self.held_out)} held out"
        )
        around = "" if self.kept is None else f", facts around it keep {percent(self.kept)}"
        return f"efficacy {short(self.efficacy)} (n = {self.n}{held}), KL {short(self.kl)}{around}"

    @property
    def _held(self) -> float:
        return sum(self.held_out) / len(self.held_out)

    @property
    def notice(self) -> str:
        """One sentence for the record of an edit that was made with these values."""
        said = f"Hyperparameters of {self.method} for {self.model} are tuned on {self.graph}"
        if self.reached:
            return f"{said}: {self.measured}."
        return f"{said} without success, and used by --anyway: {self.failure}"

    @property
    def failure(self) -> str:
        """That no setting was found, with the best that was."""
        if self.interrupted:
            return f"interrupted before facts that are held out were edited: {self.measured}."
        if self.held_out:
            return f"the best setting fails on a fact that is held out: {self.measured}."
        return f"no setting reaches .9 without ruining the model: best {self.measured}."


def tuned_path(settings: Settings, method: str, state: str, content: str) -> Path:
    """The file of a method's tuned setting for a model state and a graph's content."""
    return settings.home / FOLDER / f"{method}-{state[:16]}-{content[:16]}.json"


def store_tuned(settings: Settings, found: Tuned) -> Tuned:
    """Store a setting in place of an earlier one of the same key; returns it as it is read."""
    text = found.model_dump_json(indent=2)
    with whole_file(tuned_path(settings, found.method, found.state, found.content)) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Tuned.model_validate_json(text)


def tuned_for(settings: Settings, method: str, state: str, content: str = "") -> Tuned | None:
    """The stored setting for a model state: that of this graph, else the newest."""
    found = []
    for path in (settings.home / FOLDER).glob(f"{method}-{state[:16]}-*.json"):
        try:
            found.append(Tuned.model_validate_json(path.read_text(encoding="utf-8")))
        except (OSError, ValidationError) as error:
            raise HparamsError(
                f"{path} could not be read ({type(error).__name__})",
                remedy="Delete it, and run `thinkeval model tune` again.",
            ) from error
    found.sort(key=lambda each: (each.content == content, each.created_at))
    return found[-1] if found else None


def any_tuned(settings: Settings, method: str) -> bool:
    """Return True if a setting of the method is stored, for whatever model."""
    return any((settings.home / FOLDER).glob(f"{method}-*.json"))


@dataclass(frozen=True, slots=True)
class Chosen:
    """The hyperparameters that a method runs with.

    Attributes:
        notice: says that they are tuned, or a suggestion, or which keys of a file have no meaning
            here, for the output and the record; None where a file is used as it is.
        corpus: that the file names as the source of its authors' statistics, if it names one.
        suggestion: that the notice is about.
        ridge_set: True if the user's own file or overrides have `mom2_ridge`.
    """

    values: Any
    notice: str | None = None
    corpus: str | None = None
    suggestion: Suggestion | None = None
    ridge_set: bool = False


def chosen(
    runtime: Runtime,
    method: str,
    source: str,
    overrides: Mapping[str, Any],
    *,
    name: str | None,
    config: Callable[[], Any],
    tuned: Tuned | None = None,
    anyway: bool = False,
    state_known: bool = True,
) -> Chosen:
    """The hyperparameters of a method: named, else tuned, else of a file, else suggested.

    A notice is announced, if the model's state is known.

    Args:
        source: a file, or the name or folder of a model.
        overrides: keys that replace those values.
        name: of the model, for the notice; None: the source is a user's choice, and must exist.
        config: the model's configuration; read only where no file is found.
        tuned: the stored setting for the model's state; a failure is used only `anyway`.
        state_known: False before the model is loaded: a stored setting may be of its state.

    Raises:
        HparamsError: an unreadable file; or a key that is unknown, or of a wrong type.
        ModelLoadError: the configuration cannot be read.
    """
    stated = name is None
    if tuned is not None and not stated and (tuned.reached or anyway):
        origin = f"tuned on {tuned.graph}"
        found = Chosen(
            hparams.from_values(method, tuned.values, overrides, source=origin), tuned.notice
        )
    elif name is None or not hparams.without_file([method], source):
        stored, origin = hparams.stored(method, source)
        values = hparams.from_values(method, stored, overrides, source=origin)
        left_out = hparams.unused(method, stored, source=origin)
        found = Chosen(
            values,
            left_out,
            corpus=stored.get("mom2_dataset"),
            ridge_set=stated and "mom2_ridge" in stored,
        )
    else:
        suggestion = for_config(method, config())
        origin = f"suggestion for {method!r}"
        values = hparams.from_values(method, suggestion.values, overrides, source=origin)
        found = Chosen(values)
        if suggestion.of_model:
            found = Chosen(values, notice([suggestion], name), suggestion=suggestion)
    if tuned is not None and not (stated or tuned.reached or anyway):
        failed = f"Tuned on {tuned.graph}, {tuned.failure} --anyway uses that."
        found = replace(found, notice=" ".join(filter(None, (found.notice, failed))))
    if found.notice is not None and state_known:
        runtime.announce(found.notice)
    return replace(found, ridge_set=found.ridge_set or "mom2_ridge" in overrides)


def announce(runtime: Runtime, found: Iterable[tuple[str, Chosen]]) -> None:
    """Announce the suggestions of several methods, before a model is loaded, as one a model.

    Those of methods with a stored setting are left out: it may be of the model's state.

    Args:
        found: with the model's name.
    """
    together: dict[tuple[str, str], list[Chosen]] = {}
    for model, each in found:
        of = each.suggestion
        if of is not None and not any_tuned(runtime.settings, of.method):
            together.setdefault((model, of.template), []).append(each)
    for (model, _), several in together.items():
        by_method = {each.suggestion.method: each.suggestion for each in several if each.suggestion}
        runtime.announce(
            notice([*by_method.values()], model), includes=[each.notice or "" for each in several]
        )


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
        " (`thinkeval model covariance import --help`), or the rule in place of the constant, --set"
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
) -> Chosen:
    """The hyperparameters of a method for a loaded model, as `chosen`.

    Args:
        named: a file, a folder of files or a published name; None finds them by the model.
    """
    named = source_for(method, named)
    return chosen(
        runtime,
        method,
        named or model.listed_as,
        overrides or {},
        name=None if named else model.name,
        config=lambda: model.loaded.model.config,
        tuned=tuned_for(runtime.settings, method, model.loaded.info.digest),
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
