"""Bounds on the nesting and the aliases of a YAML file, checked before it is composed.

libyaml's composer is recursive: at some 30,000 levels of nesting the C stack overflows, and the
process ends with a segmentation fault that Python cannot catch. The parser's events are produced
iteratively, so counting them is safe at any depth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import yaml

MAX_LEVELS = 100
"""Maximum depth of nesting; a data set needs 5 levels."""

MAX_ALIASED = 1_000_000
"""Maximum number of values to which all aliases (`*name`) of a file may expand."""


class YamlBoundsError(yaml.MarkedYAMLError):
    """The file exceeds a bound; `problem_mark` is the place."""


@dataclass(slots=True)
class _Node:
    """Counts of a node: levels of nesting and values, both with the node itself."""

    anchor: str | None
    levels: int
    values: int = 1


def require_bounded(events: Iterable[yaml.Event]) -> None:
    """Refuse YAML that is nested too deeply, or whose aliases expand to too many values.

    An alias counts as the node that it refers to.

    Args:
        events: the events of the file, as `yaml.parse` gives them.

    Raises:
        YamlBoundsError: a bound is exceeded.
        yaml.YAMLError: the text is not YAML.
    """
    parents: list[_Node] = []
    anchors: dict[str, _Node] = {}
    aliased = 0
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            parents.append(_Node(event.anchor, levels=1))
            _require(len(parents) <= MAX_LEVELS, _TOO_DEEP, event)
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            node = parents.pop()
        elif isinstance(event, yaml.ScalarEvent):
            node = _Node(event.anchor, levels=0)
        elif isinstance(event, yaml.AliasEvent):
            # The composer reports an unknown anchor.
            target = anchors.get(event.anchor, _Node(None, levels=0))
            node = _Node(None, target.levels, target.values)
            aliased += node.values
            _require(len(parents) + node.levels <= MAX_LEVELS, _TOO_DEEP, event)
            _require(aliased <= MAX_ALIASED, _TOO_MANY, event)
        else:
            continue
        if node.anchor is not None:
            anchors[node.anchor] = node
        if parents:
            parents[-1].levels = max(parents[-1].levels, node.levels + 1)
            parents[-1].values += node.values


_TOO_DEEP = f"nested more than {MAX_LEVELS} levels deep; a data set needs 5"
_TOO_MANY = f"aliases (*name) expand to more than {MAX_ALIASED:,} values; write the values out"


def _require(fulfilled: bool, problem: str, event: yaml.Event) -> None:
    if not fulfilled:
        raise YamlBoundsError(problem=problem, problem_mark=event.start_mark)
