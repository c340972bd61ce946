"""ThinkEval: how deep does a change of a language model go?

`import thinkeval` is light: it loads neither torch nor the database driver. What stands in
`__all__` is the public surface; the rooms below (`thinkeval.service`, `thinkeval.editing`,
`thinkeval.cypher`, `thinkeval.loaders`) are the application's own.
"""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["__version__"]
