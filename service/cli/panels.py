"""Groups of options in `--help`: which edit, model, method, measurement, limits, run, output.

A command with many options shows them in boxes, one a group, in the same order everywhere; one with
few options in a single box. The name of an option decides its group, so that a shared option is in
the same group of every command.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup, TyperOption

GROUPED_FROM = 9
"""Commands with fewer options show them in one box."""

PANELS: dict[str, tuple[str, ...]] = {
    "Which edit or data": (
        "graph", "all_rewrites", "kind", "subject", "relation", "prompt", "target_true",
        "target_new", "forget", "rewrites",
        "base", "setting", "rule", "candidates", "per_rule", "facts", "unrelated", "copies",
        "updates", "init", "parameters", "pairs", "start",
        "truth", "each", "text", "dataset", "config", "split", "column", "as_new", "replace",
        "to",
    ),
    "Model": (
        "model", "revision", "dtype", "chat", "endpoint", "greedy", "temperature",
        "judge_model", "seed", "random_seed",
    ),
    "Method": (
        "method", "hparams", "overrides", "override", "covariance", "strength", "anyway", "editor",
        "strategies", "axis", "append_loss", "alpha", "beta", "gamma", "neighbours",
        "app_lists", "allow_known", "batch", "refusal", "retain",
    ),
    "Co-edits": (
        "coedit", "choose", "per_round", "rounds", "new", "objective", "draw", "draws", "anchors",
        "leak", "lock", "only_subject", "not_subject", "keys", "collateral", "efficacy", "rules",
        "alternatives",
    ),
    "Search": (
        "elicit", "chains", "iterations", "k_max", "cot_samples", "refine", "judge", "writer",
        "extractor", "single_link", "set_", "depth", "wordings", "invented", "show", "proof",
        "min_support", "rank", "typed",
    ),
    "Measurement": (
        "measure", "samples", "max_new_tokens", "ask", "paraphrases", "by_wording", "generate",
        "conversation", "implications", "max_steps", "bare", "threshold", "unit", "parallel",
        "known", "known_chain", "matched", "pass_share", "agreement", "paired", "strict",
        "published", "es_over", "ls_over",
    ),
    "Limits": (
        "max_ifr", "min_preservation", "min_subject_retention", "max_calls", "max_tokens",
        "max_seconds", "max_questions", "pair_threshold", "object_threshold", "gate", "budget",
        "seconds", "min_confidence", "confidence", "limit",
    ),
    "Run": (
        "force", "workers", "queue", "dry_run", "cancel", "delete",
    ),
    "Output": (
        "json", "csv", "table", "format", "output", "figure", "drawing", "figures", "figure_format",
        "help",
    ),
}  # fmt: skip
"""The groups in order, and the options of each."""

PLACE = {
    option: (order, panel)
    for order, (panel, options) in enumerate(PANELS.items())
    for option in options
}


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
    """A group of commands."""


class GroupedCommand(_PlainFlags, TyperCommand):
    """A command whose options are shown by group."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if sum(isinstance(each, TyperOption) for each in self.params) < GROUPED_FROM:
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

    def get_help_option(self, ctx: Any) -> Any:
        """`--help`, in the last group where there are groups."""
        option = super().get_help_option(ctx)
        grouped = any(getattr(each, "rich_help_panel", None) for each in self.params)
        if option is not None and grouped:
            vars(option)["rich_help_panel"] = PLACE["help"][1]
        return option
