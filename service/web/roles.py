"""The role that each operation requires, and the operations that a page offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.tokens import Holder
from ..kinds import KINDS

if TYPE_CHECKING:
    from ...cypher.rows.access import AccessRole

SAFE = ("GET", "HEAD", "OPTIONS")

ROLES: dict[str, AccessRole] = {
    "POST /v1/graphs/preview": "read",
    "POST /v1/graphs": "post",  # with `replace` admin
    "POST /v1/graphs/import": "post",  # with `replace` admin
    "DELETE /v1/graphs/{graph}": "admin",
    "POST /v1/graphs/{graph}/rules": "post",
    "POST /v1/graphs/{graph}/rules/mine": "post",
    "POST /v1/graphs/{graph}/rules/{rule}/labels": "post",
    "DELETE /v1/graphs/{graph}/rules/{rule}": "admin",
    "POST /v1/depedit/sets": "post",
    "DELETE /v1/depedit/sets/{knowledge_set}": "admin",
    "DELETE /v1/depedit/runs/{run}": "admin",
    "POST /v1/growth/{run}/candidates": "post",
    "POST /v1/growth/{run}/candidates/{candidate}/decision": "post",
    "POST /v1/growth/{run}/decisions": "post",
    # Forms of the web UI.
    "POST /comparisons": "post",
    "POST /growth": "post",
    "POST /sweeps/more": "post",
    "POST /sweeps/{sweep}/cancel": "post",
    "POST /edits/{edit}/delete": "admin",
    "POST /graphs/{graph}/delete": "admin",
    "POST /logout": "read",
}
for _path in (f"/v1/{kind.plural}" for kind in KINDS):
    ROLES[f"POST {_path}"] = ROLES[f"POST {_path}/{{id}}/cancel"] = "post"
    ROLES[f"DELETE {_path}/{{id}}"] = "admin"
"""Role that each operation requires besides those of `SAFE`, which require `read`."""
WITH_REPLACE = " with `replace`"
REPLACING: dict[str, AccessRole] = {
    f"{each}{WITH_REPLACE}": "admin" for each in ("POST /v1/graphs", "POST /v1/graphs/import")
}
"""Role that an operation requires with an option."""


def role_of(method: str, path: str) -> AccessRole:
    """Role that an operation requires, by the pattern of its path; the highest if none is known."""
    return "read" if method in SAFE else ROLES.get(f"{method} {path}", "admin")


class Offers:
    """The operations that a page offers: it leaves out those that its reader's role forbids.

    Attributes:
        access: the reader of a page; None before anyone has signed in.
        left_out: the roles that the operations require which were left out so far.
    """

    def __init__(self, access: Holder | None) -> None:
        self.access = access
        self.left_out: set[AccessRole] = set()

    def __call__(self, operation: str) -> bool:
        """Return True if a page may offer an operation of `ROLES` or `REPLACING`.

        Raises:
            KeyError: neither has it, so a template is wrong.
        """
        role = (ROLES | REPLACING)[operation]
        permitted = self.access is not None and self.access.has(role)
        if not permitted:
            self.left_out.add(role)
        return permitted
