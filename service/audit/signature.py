"""Signatures of short texts by programs that users have: ssh-keygen or minisign.

    signed = sign(text, Path("~/.ssh/id_ed25519"))
    check(text, signed, Path("allowed_signers"))

No key is read or stored here: the program reads it, and asks for its passphrase.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from ..errors import ServiceError, UsageError

Format = Literal["ssh", "minisign"]

NAMESPACE = "thinkeval-audit"
"""What an ssh signature is for; one made for anything else is not accepted."""

_SSH = "-----BEGIN SSH SIGNATURE-----"
_MINISIGN = "untrusted comment:"
_PUBLIC = re.compile(r"(?:ssh|ecdsa|sk)-[\w@.-]+ [A-Za-z0-9+/=]+")
_INSTALL: dict[str, str] = {
    "ssh-keygen": "Install OpenSSH (`apt install openssh-client`), 8.2 or newer.",
    "minisign": "Install minisign (`apt install minisign`, `brew install minisign`).",
}


class SignatureError(ServiceError):
    """The signature could not be made or checked."""

    status = 422
    remedy = "Give the file of a private key that ssh-keygen or minisign can use."


class Checked(BaseModel):
    """What is known of a signature.

    Attributes:
        valid: whether it is a signature of the text; None where no program could check it.
        trusted: whether it was made by a signer whom the caller named.
        by: the signer's name in the file of allowed signers, or the key.
    """

    format: Format
    valid: bool | None
    trusted: bool = False
    by: str | None = None
    note: str = ""


def format_of(key: Path) -> Format:
    """The program that a file of a key is for.

    Raises:
        UsageError: it cannot be read, or is no file of a key.
    """
    text = _read(key)
    if text.startswith(_MINISIGN):
        return "minisign"
    if "PRIVATE KEY-----" in text or _PUBLIC.match(text):
        return "ssh"
    raise UsageError(
        f"{key} is no key of ssh-keygen or minisign.",
        remedy="Make one: `ssh-keygen -t ed25519 -f FILE`, or `minisign -G`.",
    )


def sign(text: str, key: Path) -> str:
    """The signature of a text, as its file.

    Args:
        key: a private key; of ssh also a public one whose private key is in the agent.

    Raises:
        UsageError: the key cannot be read, or the program is not installed.
        SignatureError: the program refuses the key.
    """
    if format_of(key) == "ssh":
        done = _run(["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", NAMESPACE], text)
        if done.returncode or _SSH not in done.stdout:
            raise SignatureError(f"ssh-keygen did not sign: {_last_line(done.stderr)}.")
        return done.stdout
    with tempfile.TemporaryDirectory() as folder:
        message, signed = Path(folder, "seal"), Path(folder, "seal.minisig")
        message.write_text(text, encoding="utf-8")
        words = ["minisign", "-S", "-s", str(key), "-m", str(message), "-x", str(signed)]
        done = _run(words, None)
        if done.returncode or not signed.is_file():
            raise SignatureError(f"minisign did not sign: {_last_line(done.stderr)}.")
        return signed.read_text(encoding="utf-8")


def check(text: str, signature: str, signer: Path | None = None) -> Checked:
    """Whether a signature is of this text, and by whom.

    Args:
        signer: file of allowed signers (ssh), or of a public key; None: the signature is checked,
            and by whom it is remains open.

    Raises:
        UsageError: the file cannot be read; or, with a signer, the program is not installed.
    """
    if signature.startswith(_MINISIGN):
        return _by_minisign(text, signature, signer)
    if not signature.startswith(_SSH):
        return Checked(format="ssh", valid=False, note="it is no signature")
    if signer is None:
        return _unnamed(text, signature)
    return _by_ssh(text, signature, signer)


def _unnamed(text: str, signature: str) -> Checked:
    """An ssh signature whose signer the caller did not name."""
    if shutil.which("ssh-keygen") is None:
        return Checked(format="ssh", valid=None, note="ssh-keygen is not installed: not checked")
    with tempfile.TemporaryDirectory() as folder:
        signed = _written(folder, "seal.sig", signature)
        words = ["ssh-keygen", "-Y", "check-novalidate", "-n", NAMESPACE, "-s", signed]
        done = _run(words, text)
    key = re.search(r"with (\S+ key \S+)", done.stdout + done.stderr)
    if done.returncode:
        return Checked(format="ssh", valid=False, note=_last_line(done.stderr + done.stdout))
    note = "whose key this is was not checked: name the signer"
    return Checked(format="ssh", valid=True, by=key[1] if key else None, note=note)


def _by_ssh(text: str, signature: str, signer: Path) -> Checked:
    """An ssh signature by one of the allowed signers, or by the owner of a public key."""
    allowed = _read(signer).strip()
    if _PUBLIC.match(allowed):
        parts = allowed.split(maxsplit=2)
        name = re.sub(r"\s+", "-", parts[2]) if len(parts) > 2 else "signer"
        allowed = f"{name} {parts[0]} {parts[1]}"
    with tempfile.TemporaryDirectory() as folder:
        signed = _written(folder, "seal.sig", signature)
        names = _written(folder, "allowed_signers", allowed + "\n")
        found = _run(["ssh-keygen", "-Y", "find-principals", "-s", signed, "-f", names], "")
        who = found.stdout.split("\n")[0].strip()
        if found.returncode or not who:
            note = f"its key is none of {signer.name}"
            return Checked(format="ssh", valid=_unnamed(text, signature).valid, note=note)
        words = ["ssh-keygen", "-Y", "verify", "-f", names, "-I", who, "-n", NAMESPACE]
        done = _run([*words, "-s", signed], text)
    if done.returncode:
        return Checked(format="ssh", valid=False, by=who, note=_last_line(done.stderr))
    return Checked(format="ssh", valid=True, trusted=True, by=who)


def _by_minisign(text: str, signature: str, signer: Path | None) -> Checked:
    """A minisign signature; it names no key, so a public one is needed to check it."""
    if signer is None:
        note = "minisign checks by a public key: name the signer"
        return Checked(format="minisign", valid=None, note=note)
    if not _read(signer).startswith(_MINISIGN):
        note = f"{signer.name} is no public key of minisign"
        return Checked(format="minisign", valid=None, note=note)
    with tempfile.TemporaryDirectory() as folder:
        message = _written(folder, "seal", text)
        signed = _written(folder, "seal.minisig", signature)
        words = ["minisign", "-V", "-q", "-p", str(signer), "-m", message, "-x", signed]
        done = _run(words, "")
    if done.returncode:
        return Checked(format="minisign", valid=False, note=_last_line(done.stderr + done.stdout))
    return Checked(format="minisign", valid=True, trusted=True, by=signer.name)


def _run(words: Sequence[str], text: str | None) -> subprocess.CompletedProcess[str]:
    """Run a program on a text; without one it reads the terminal, for a passphrase.

    Raises:
        UsageError: it is not installed.
    """
    program = shutil.which(words[0])
    if program is None:
        raise UsageError(f"{words[0]} is not installed.", remedy=_INSTALL[words[0]])
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "input": text}
    if text is None:  # its prompt is on standard output, which may be for JSON here
        streams = {"stdout": 2}
    return subprocess.run(
        [program, *words[1:]], stderr=subprocess.PIPE, text=True, check=False, **streams
    )


def _written(folder: str, name: str, text: str) -> str:
    path = Path(folder, name)
    path.write_text(text, encoding="utf-8")
    return str(path)


def _read(path: Path) -> str:
    """The text of a file of a key.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        return path.expanduser().read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror or error}.", remedy="Give the file of a key."
        ) from error


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else "it gave no reason"
