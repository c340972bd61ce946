"""Exit codes: the one table that the commands end by and that the documentation prints."""

from __future__ import annotations

WORKED, NEGATIVE, ERROR, NOTHING, INTERRUPTED = 0, 1, 2, 3, 130

CODES = {
    WORKED: "The command succeeded.",
    NEGATIVE: "A gate failed or the result is negative: everything ran, and a limit that you gave"
    " is not met. Each command's section says which.",
    ERROR: "An error: one line on standard error says what happened and where, then what to do.",
    NOTHING: "Nothing was edited, as the model does not know the facts; there is no error.",
    INTERRUPTED: "Interrupted (Ctrl-C): the model is as it was, and no partial graph is stored.",
}
"""Exit codes of every command."""

OWN_CODES: dict[str, dict[int, str]] = {
    "thinkeval score": {
        NEGATIVE: "a gate is missed: `--gate`, `--not-worse-than`, `--max-ifr`,"
        " `--min-preservation`, `--min-subject-retention` or `--max-kl`.",
        ERROR: "also where one of several edits failed; the others are scored.",
        NOTHING: "the model knows none of the facts, so none was edited (`--anyway` edits them).",
    },
    "thinkeval lab coedit": {NEGATIVE: "no round meets the objective; the rounds are stored."},
    "thinkeval model tune": {NEGATIVE: "a method did not reach the criterion."},
    "thinkeval sweep": {
        ERROR: "also where one of the edits failed; the others are scored.",
        NOTHING: "every edit was skipped, because the model knows none of the facts.",
    },
    "thinkeval graph grow start": {
        NEGATIVE: "the run ended without any chain for one of the rewrites."
    },
    "thinkeval results deltas verify": {
        ERROR: "also where the weights differ after reverting, or the file holds another update"
        " than the one that was scored."
    },
    "thinkeval doctor": {ERROR: "also where a check fails."},
}
"""Exit codes that mean something of their own in a command."""
