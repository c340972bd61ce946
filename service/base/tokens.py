"""Named tokens with roles: kept in the database, so that all services of it know them.

THINKEVAL_API_TOKEN is another one, with the role admin; it is kept nowhere.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from ...cypher.rows.access import AccessRole, TokenRow
from .errors import ConflictError, NotFoundError, UsageError

if TYPE_CHECKING:
    from ...cypher.run import Database

ROLES: tuple[AccessRole, ...] = get_args(AccessRole)
"""Each permits what the ones before it do."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


@dataclass(frozen=True, slots=True)
class Holder:
    """The holder of a token.

    Attributes:
        name: of the token; it is logged, the token never.
        role: what the token permits.
    """

    name: str
    role: AccessRole

    def has(self, role: AccessRole) -> bool:
        """Return True if what a role permits is permitted."""
        return ROLES.index(self.role) >= ROLES.index(role)


def digest_of(token: str) -> str:
    """The SHA-256 of a token, in hexadecimal.

    A token of this module is 256 random bits: it cannot be found by trying, also not from its
    digest. The slow and salted hashes of passwords delay the guessing of words that people chose;
    here they would delay each request only.
    """
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def add(db: Database, name: str, role: AccessRole) -> str:
    """Make a token; it is returned, and stored nowhere but as its digest.

    Raises:
        UsageError: not a name for a token.
        ConflictError: there is one of this name; it is left as it is.
    """
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a token.",
            remedy="Use at most 64 letters, digits and . _ @ -, such as the name of a person.",
        )
    token = secrets.token_urlsafe(32)
    if not db.write(bool, "access/add_token", token=name, role=role, digest=digest_of(token))[0]:
        raise ConflictError(
            f"There is a token {name!r} already; it was left as it is.",
            remedy=f"Take another name, or `thinkeval db token revoke {name}` first.",
        )
    return token


def listed(db: Database) -> list[TokenRow]:
    """All named tokens, by name."""
    return db.read(TokenRow, "access/list_tokens")


def revoke(db: Database, name: str) -> None:
    """Revoke a token.

    Raises:
        NotFoundError: there is none of this name.
    """
    if not db.write(int, "access/revoke_token", token=name)[0]:
        known = [each.name for each in listed(db)]
        raise NotFoundError("token", name, known, listing="thinkeval db token list")
