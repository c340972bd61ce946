"""Options that several commands share, and their groups in `--help`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import copy
from enum import StrEnum
from pathlib import Path
from types import EllipsisType, NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import annotated_types
import typer
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from typer.core import TyperCommand, TyperGroup, TyperOption

from ..base.errors import UsageError, close_names
from ..models.edit import EditOptions, Measure, MeasuredOptions
from ..models.options import flags_of, option_of
from ..scoring.request import read_overrides

# Groups of options in `--help`: which edit, model, method, measurement, limits, run, output.
#
# A command with many options shows all of them in boxes, one a group, in the same order everywhere;
# one with few options in a single box. The name of an option decides its group, so that a shared
# option is in the same group of every command.

PANELS: dict[str, tuple[str, ...]] = {
    "Which edit or data": (
        "graph", "all_rewrites", "kind", "subject", "relation", "prompt", "target_true",
        "target_new", "forget", "rewrites",
        "base", "setting", "rule", "candidates", "per_rule", "facts", "unrelated", "copies",
        "updates", "init", "start",
        "each", "as_new", "replace", "state",
    ),
    "Model": (
        "model", "revision", "dtype", "chat", "endpoint", "greedy", "temperature",
        "judge_model", "seed", "random_seed",
    ),
    "Method": (
        "method", "hparams", "overrides", "covariance", "strength", "anyway", "editor",
        "strategies", "axis", "append_loss", "alpha", "beta", "gamma", "neighbours",
        "app_lists", "allow_known", "batch", "refusal", "retain",
    ),
    "Co-edits": (
        "coedit", "choose", "per_round", "rounds", "new", "objective", "draw", "draws", "anchors",
        "leak", "lock", "only_subject", "not_subject", "keys", "collateral", "efficacy", "rules",
        "alternatives",
    ),
    "Search": (
        "elicit", "chains", "iterations", "k_max", "cot_samples", "refine", "judge",
        "single_link", "set_", "depth", "wordings", "invented",
    ),
    "Measurement": (
        "measure", "samples", "max_new_tokens", "ask", "paraphrases", "forms", "forms_scope",
        "by_wording", "generate", "conversation", "tasks", "tasks_limit", "side_effects",
        "drift_facts", "implications", "max_steps", "bare", "threshold", "unit", "parallel",
        "known", "known_chain", "matched", "pass_share", "agreement", "metric",
        "paired",
        "strict", "published", "es_over", "ls_over",
    ),
    "Limits": (
        "max_ifr", "min_preservation", "min_subject_retention", "max_kl", "max_calls",
        "max_tokens", "max_seconds", "max_questions", "pair_threshold", "object_threshold",
        "gate", "gates", "not_worse_than", "margin", "budget", "seconds",
        "limit",
    ),
    "Run": (
        "force", "workers", "engine", "ray_address", "queue", "dry_run", "cancel",
        "delete", "export",
    ),
    "Output": (
        "protocol", "all_metrics", "json", "csv", "table", "format", "output", "junit", "markdown",
        "figure", "drawing", "figures", "figure_format", "join", "folder", "help",
    ),
}  # fmt: skip
"""The groups in order, and the options of each."""

PLACE = {
    option: (order, panel)
    for order, (panel, options) in enumerate(PANELS.items())
    for option in options
}


FOLDED_FROM = 12
"""Commands with fewer options show them all in `--help`, in one box."""

BASIC = frozenset((
    "graph", "all_rewrites", "subject", "relation", "prompt", "target_true", "target_new",
    "rewrites", "forget", "start", "base", "facts", "copies", "init", "each",
    "model", "method", "endpoint", "judge_model", "strategies",
    "coedit", "rounds", "per_round", "objective", "leak", "rules", "elicit", "iterations", "judge",
    "depth", "samples", "measure", "batch", "matched", "by_wording",
    "gates", "budget", "max_calls", "dry_run", "queue", "workers",
    "all_metrics", "json", "output", "format", "figures", "figure", "limit",
))  # fmt: skip
"""The options that `--help` shows of a command with many; `--help-all` shows the others too."""


PARAGRAPHS = 3
"""Paragraphs of its text that `--help` shows of such a command."""


class _PlainFlags:
    """Shows flags without the type that Typer writes: `--force <bool>` would take a value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, with those that Typer adds."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in params:
            if isinstance(each, TyperOption) and each.is_flag:
                each.metavar = ""
        return params


class GroupOfCommands(_PlainFlags, TyperGroup):
    """A group of commands; alone it prints its help."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.suggest_commands = False  # `resolve_command` suggests those one level down too

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take no arguments for `--help`."""
        return super().parse_args(ctx, args or ([] if ctx.resilient_parsing else ["--help"]))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; of an unknown name suggest close ones, here and one level down."""
        try:
            return super().resolve_command(ctx, args)
        except typer.TyperException as error:
            paths: dict[str, str] = {}
            for group, each in self.commands.items():
                for inner in getattr(each, "commands", {}):
                    paths.setdefault(inner, f"{group} {inner}")
            paths |= {each: each for each in self.commands}
            name = args[0]
            names = [name] if name in paths else close_names(name, paths)
            close = [f"`{ctx.command_path} {paths[each]}`" for each in names]
            if close:
                error.message += f" Did you mean {' or '.join(close)}?"
            raise


class GroupWithDefault(GroupOfCommands):
    """A group whose arguments belong to its hidden command unless they name another one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command before the arguments, `--help` included."""
        (default,) = (name for name, command in self.commands.items() if command.hidden)
        named = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if named else [default, *args])


class GroupedCommand(_PlainFlags, TyperCommand):
    """A command whose options are shown by group; of many, `--help` shows the basic ones.

    Attributes:
        folded: the options that only `--help-all` shows.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        options = [each for each in self.params if isinstance(each, TyperOption)]
        many = len(options) >= FOLDED_FROM
        self.folded = [each for each in options if many and each.name not in BASIC]
        self._all: Any = None
        if not many:
            return
        for each in self.params:
            if isinstance(each, TyperOption) and each.name in PLACE:
                each.rich_help_panel = PLACE[each.name][1]
        self.params.sort(key=lambda each: self._place(each))

    @staticmethod
    def _place(param: object) -> int:
        """Arguments stay before all options, in their order."""
        if not isinstance(param, TyperOption):
            return -1
        return PLACE.get(param.name or "", (len(PANELS), ""))[0]

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, with `--help-all` where `--help` does not show all of them."""
        params = super().get_params(ctx)
        if not self.folded:
            return params
        if self._all is None:  # one object: typer orders parameters by identity
            option: Any = copy(super().get_help_option(ctx))
            option.opts, option.name = ["--help-all"], "help_all"
            option.help, option.callback = "Show every option.", self._help_all
            option.rich_help_panel = PLACE["help"][1]
            self._all = option
        return [*params, self._all]

    def _help_all(self, ctx: Any, param: object, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            super().format_help(ctx, ctx.make_formatter())
            raise typer.Exit

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help; of many options the basic ones in one box, and how to see all."""
        if not self.folded:
            super().format_help(ctx, formatter)
            return
        options = [each for each in self.get_params(ctx) if isinstance(each, TyperOption)]
        before = [(each, dict(vars(each))) for each in options]
        for each in options:
            each.hidden = each.hidden or each in self.folded
            if (each.min, each.max) != (None, None):
                each.metavar = "N"  # with its bounds it takes half of the width
            vars(each)["rich_help_panel"] = None
        text = self.help
        self.help = "\n\n".join((text or "").split("\n\n")[:PARAGRAPHS])
        self.epilog = f"More options: {ctx.command_path} --help-all"
        try:
            super().format_help(ctx, formatter)
        finally:
            self.help, self.epilog = text, None
            for each, values in before:
                vars(each).update(values)

    def get_help_option(self, ctx: Any) -> Any:
        """`--help`, in the last group where there are groups."""
        option = super().get_help_option(ctx)
        grouped = any(getattr(each, "rich_help_panel", None) for each in self.params)
        if option is not None and grouped:
            vars(option)["rich_help_panel"] = PLACE["help"][1]
        return option


# Those of commands that score are generated from the fields of the request (`EditOptions`), those
# of others from their own request (`of`): flags, help texts, defaults and bounds are the model's,
# and what only the command line has (a short flag, its own help where it accepts more) is in the
# field's `Option`. There is no other list.

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound=BaseModel)


def typer_option(name: str, *, help: str | None = None, of: type[BaseModel] = EditOptions) -> Any:
    """The typer option of a request's field: flags, help and bounds."""
    field = of.model_fields[name]
    return field_option(field, *flags_of(name, field), help=help)


def field_option(field: FieldInfo, *flags: str, help: str | None = None) -> Any:
    """The typer option of a request's field: its help and bounds.

    Args:
        flags: none for the parameter's own name.
    """
    extra = option_of(field)
    bounds: dict[str, Any] = {}
    for each in field.metadata:
        if isinstance(each, annotated_types.Ge):
            bounds["min"] = each.ge
        elif isinstance(each, annotated_types.Gt):
            bounds["min"] = each.gt
        elif isinstance(each, annotated_types.Le) and not extra.limited:
            bounds["max"] = each.le
    return typer.Option(*flags, help=help or extra.help or field.description, **bounds)


class Kind(StrEnum):
    """Kinds of requests."""

    replaced = "replace"
    forgotten = "forget"
    appended = "append"


class MeasureName(StrEnum):
    """The measures; the values are the stored property prefixes."""

    p = "p"
    likelihood = "likelihood"
    likelihood_norm = "likelihood_norm"

    @property
    def key(self) -> Measure:
        """The value as the schemas spell it."""
        return self.value  # type: ignore[return-value]


JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
MeasureOption = Annotated[
    MeasureName,
    typer.Option(
        "--measure",
        metavar="MEASURE",
        help="p: share of sampled answers (the papers' protocol); likelihood: exact,"
        " teacher-forced; likelihood_norm: per token.",
    ),
]
ModelOption = Annotated[str, typer_option("model")]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        help="table, markdown, csv, json, latex (a tabular with the rules of booktabs), or parquet"
        " (with -o; keeps the caption).",
    ),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write to this file instead.")
]

EngineOption = Annotated[
    str | None,
    typer.Option(help="Where workers run: local, or ray for the actors of a Ray cluster."),
]
RayAddressOption = Annotated[
    str | None, typer.Option(help="The Ray cluster: auto, HOST:PORT, ray://HOST:PORT.")
]


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given; the settings have the values of the others."""
    return {name: value for name, value in options.items() if value is not None}


DatasetOption = Annotated[
    str | None, typer.Option("--graph", "-g", help="Only sets built from this graph.")
]


class SettingName(StrEnum):
    """The wording of questions."""

    cq_dt = "CQ_DT"
    cq_ut = "CQ_UT"
    icq_dt = "ICQ_DT"


SettingOption = Annotated[
    SettingName | None, typer.Option(help="Only sets in this setting.", case_sensitive=False)
]


class ProbeOptions:
    """Options of the request for commands that do not score."""

    chat = Annotated[str, typer_option("chat")]
    dtype = Annotated[str, typer_option("dtype")]
    revision = Annotated[str | None, typer_option("revision")]
    seed = Annotated[int, typer_option("seed")]


def takes(
    *names: str | EllipsisType,
    of: type[BaseModel] = EditOptions,
    many: tuple[str, ...] = (),
    defaults: Mapping[str, Any] | None = None,
    help: Mapping[str, str] | None = None,
) -> Callable[[F], F]:
    """Give a command the options of the request in place of its `**options`.

    Given twice, the options of the upper request come first.

    Args:
        names: fields in the order of the help; `...` for all that are not named.
        of: the request.
        many: fields whose option is repeatable; without it the command gets None.
        defaults: where the command's differ from the model's.
        help: where an option means more or less to the command than to the request.
    """
    rest = [
        name
        for name in _order(of)
        if name not in names and option_of(of.model_fields[name]).command
    ]
    chosen = [each for name in names for each in (rest if name is ... else [name])]

    def decorate(command: F) -> F:
        signature = inspect.signature(command, eval_str=True)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        n_arguments = sum(_is_argument(parameter) for parameter in own)
        generated = [
            _parameter(of, name, name in many, defaults or {}, (help or {}).get(name))
            for name in chosen
        ]
        parameters = [*own[:n_arguments], *generated, *own[n_arguments:]]
        vars(command)["__signature__"] = signature.replace(
            parameters=[p.replace(kind=p.KEYWORD_ONLY) for p in parameters]
        )
        return command

    return decorate


def edit_options(chosen: Mapping[str, Any]) -> EditOptions:
    """The request's options from a command's, without the limits of the service.

    Raises:
        UsageError: a value that the request does not have, or a --set that cannot be read.
    """
    values = dict(chosen)
    for name, value in chosen.items():
        field = EditOptions.model_fields[name]
        _check(flags_of(name, field)[0], field, value)
    if "overrides" in values:
        values["overrides"] = read_overrides(values["overrides"] or [])
    return EditOptions.model_construct(**values)


def request_of(model: type[M], chosen: Mapping[str, Any]) -> M:
    """A request from a command's options, within its limits.

    Raises:
        UsageError: a value that the request does not have.
    """
    values = {name: value for name, value in chosen.items() if value is not None}
    for name, value in values.items():
        field = model.model_fields[name]
        _check(flags_of(name, field)[0], field, value)
    try:
        return model(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name, *inner = [str(each) for each in first["loc"]] or [""]
        flag = ".".join((name, *inner))
        if name and all(each.isdigit() for each in inner):  # of a list, one value an option
            flag = flags_of(name, model.model_fields[name])[0]
        said = ": ".join(filter(None, (flag, first["msg"].removeprefix("Value error, "))))
        raise UsageError(f"{said}.", remedy="Give another value.") from error


def _order(model: type[BaseModel]) -> list[str]:
    """The fields in the order of the help: those of the request first, then those it inherits."""
    return [
        name
        for owner in model.__mro__
        for name in vars(owner).get("__annotations__", ())
        if name in model.model_fields
    ]


MEASURED = tuple(_order(MeasuredOptions))
"""The options of whatever is measured: how facts are probed, and how chains are counted."""

PROBED = tuple(
    name
    for name in MEASURED
    if (option_of(MeasuredOptions.model_fields[name]).recorded or "").startswith("probe.")
)
"""Those of them that say how facts are probed."""


def _is_argument(parameter: inspect.Parameter) -> bool:
    return any(
        isinstance(each, typer.models.ArgumentInfo)
        for each in getattr(parameter.annotation, "__metadata__", ())
    )


def _parameter(
    of: type[BaseModel], name: str, many: bool, defaults: Mapping[str, Any], help: str | None
) -> inspect.Parameter:
    field = of.model_fields[name]
    kind: Any = _type_of(field)
    required = inspect.Parameter.empty if field.is_required() else None
    default = defaults.get(name, required or field.get_default(call_default_factory=True))
    if many or kind in (dict, tuple, list):
        kind, default = list[kind if many else str] | None, None
        help = help or f"{option_of(field).help or field.description} Repeatable."
    elif default is None:
        kind = kind | None
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, typer_option(name, help=help, of=of)],
    )


def _type_of(field: FieldInfo) -> type:
    """The type of a field's value on the command line: a choice is a text, several are `tuple`."""
    found = _alternatives(field.annotation)
    kind = found[0]
    return str if get_origin(kind) is Literal else get_origin(kind) or kind


def _alternatives(annotation: Any) -> list[Any]:
    """Return the types of an annotation without None, each without its metadata."""
    if get_origin(annotation) is Annotated:
        return _alternatives(get_args(annotation)[0])
    if get_origin(annotation) in (Literal, dict, list, tuple) or not get_args(annotation):
        return [] if annotation is NoneType else [annotation]
    return [kind for each in get_args(annotation) for kind in _alternatives(each)]


def _check(flag: str, field: FieldInfo, value: Any) -> None:
    if value is None or option_of(field).help is not None:  # the command line accepts more
        return
    kind = _alternatives(field.annotation)[0]
    allowed = get_args(kind) if get_origin(kind) is Literal else ()
    if allowed and value not in allowed:
        raise UsageError(f"{flag} {value!r} is unknown.", remedy=f"Use {' or '.join(allowed)}.")
    for each in field.metadata:
        if isinstance(each, annotated_types.Lt) and not value < each.lt:
            raise UsageError(
                f"{flag} {value} is out of range.", remedy=f"Give a value below {each.lt}."
            )
        if isinstance(each, annotated_types.Gt) and not value > each.gt:
            raise UsageError(
                f"{flag} {value} is out of range.", remedy=f"Give a value above {each.gt}."
            )


def require_taken(measure: str, samples: int) -> None:
    """Refuse a measure that the probe does not take.

    A gate on it would pass for lack of a value.
    """
    if measure == "p" and not samples:
        raise UsageError(
            f"--measure {measure} is not taken with --samples {samples}.",
            remedy="Give --samples 1 or more, or --measure likelihood.",
        )
