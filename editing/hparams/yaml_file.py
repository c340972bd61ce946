"""Hyperparameters from a YAML file, as `thinkeval model hparams suggest` writes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from ...loaders.reading.sources import small_text
from ...loaders.reading.yaml_bounds import require_bounded
from ..errors import HparamsError


class _Numbers(yaml.SafeLoader):
    """Reads 5e-4 as a number, as YAML 1.2 and JSON do; PyYAML's rules need 5.0e-4."""


_Numbers.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?\d+(\.\d*)?[eE][-+]?\d+$"), list("-+0123456789")
)


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file.

    Raises:
        HparamsError: the file does not exist, is not YAML, or does not contain a mapping.
    """
    try:
        text = small_text(path)
        require_bounded(yaml.parse(text, Loader=yaml.SafeLoader))
        values = yaml.load(text, Loader=_Numbers)
    except OSError as error:
        raise HparamsError(f"{path} could not be read ({error.strerror})") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        line = str(error).splitlines()[0]
        raise HparamsError(f"{path} is not YAML ({line})") from error
    if not isinstance(values, dict):
        raise HparamsError(f"{path} contains no YAML mapping")
    return values
