"""The seal is signed by ssh-keygen or minisign, where they are installed, and checked by them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from support.states.audits import written
from thinkeval.service.audit import signature
from thinkeval.service.audit.schemas import ENTRIES, message
from thinkeval.service.audit.signature import NAMESPACE, SignatureError, check, format_of, sign
from thinkeval.service.audit.verify import verify
from thinkeval.service.errors import UsageError

needs_ssh = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed here"
)
needs_minisign = pytest.mark.skipif(
    shutil.which("minisign") is None, reason="minisign is not installed here"
)


def ssh_key(path: Path, comment: str = "ada@example.org") -> Path:
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    return path


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return ssh_key(tmp_path / "key")


@needs_ssh
def test_a_signed_seal_is_verified_by_its_signer(key: Path, tmp_path: Path) -> None:
    entries = written(tmp_path / "audit", key=key, signed="ssh")
    assert entries[-1].data["signature"] == "seal.sig"
    by_key = verify(tmp_path / "audit", key.with_suffix(".pub"))
    assert (by_key.ok, by_key.signature and by_key.signature.trusted) == (True, True)
    allowed = tmp_path / "allowed_signers"
    public = key.with_suffix(".pub").read_text().split()
    allowed.write_text(f'ada@example.org namespaces="{NAMESPACE}" {public[0]} {public[1]}\n')
    found = verify(tmp_path / "audit", allowed)
    assert found.ok
    assert found.signature is not None
    assert (found.signature.by, found.signature.trusted) == ("ada@example.org", True)
    # As anyone checks it, with the program alone.
    words = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", "ada@example.org"]
    words += ["-n", NAMESPACE, "-s", str(tmp_path / "audit" / "seal.sig")]
    subprocess.run(words, input=f"{found.seal}\n", text=True, check=True, capture_output=True)


@needs_ssh
def test_without_a_signer_it_is_checked_and_not_trusted(key: Path, tmp_path: Path) -> None:
    written(tmp_path / "audit", key=key, signed="ssh")
    found = verify(tmp_path / "audit")
    assert found.ok
    assert found.signature is not None
    assert (found.signature.valid, found.signature.trusted) == (True, False)
    assert "SHA256:" in (found.signature.by or "")


@needs_ssh
def test_another_signer_another_seal_and_no_signature(key: Path, tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    written(folder, key=key, signed="ssh")
    other = ssh_key(tmp_path / "other")
    found = verify(folder, other.with_suffix(".pub"))
    assert found.altered is not None
    assert (found.ok, found.altered.what) == (False, "signature")
    (folder / "seal.sig").write_text(sign("another seal\n", key))
    for signer in (None, key.with_suffix(".pub")):
        found = verify(folder, signer)
        assert found.altered is not None
        assert (found.altered.file, found.altered.what) == ("seal.sig", "signature")
    text = (folder / "seal.sig").read_text()
    (folder / "seal.sig").write_text("no signature")
    assert not verify(folder).ok
    (folder / "seal.sig").write_text(text[:200] + "!" + text[201:])
    assert not verify(folder).ok
    (folder / "seal.sig").unlink()
    found = verify(folder)
    assert found.altered is not None
    assert (found.altered.file, found.altered.what) == ("seal.sig", "missing")
    written(tmp_path / "unsigned")
    found = verify(tmp_path / "unsigned", key.with_suffix(".pub"))
    assert found.altered is not None
    assert "not signed" in found.altered.why


@needs_ssh
def test_a_chain_written_anew_fails_by_its_signature(key: Path, tmp_path: Path) -> None:
    """Whoever has the folder can chain other entries; not sign them."""
    written(tmp_path / "audit", key=key, signed="ssh")
    forged = written(tmp_path / "forged", key=ssh_key(tmp_path / "other"), signed="ssh")
    assert message(forged[-1]) == f"{forged[-1].digest}\n"
    assert verify(tmp_path / "forged").ok
    assert not verify(tmp_path / "forged", key.with_suffix(".pub")).ok


@needs_ssh
def test_a_signature_for_something_else_is_refused(key: Path, tmp_path: Path) -> None:
    words = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", "file"]
    made = subprocess.run(words, input="text", text=True, check=True, capture_output=True)
    assert check("text", made.stdout).valid is False
    assert check("text", made.stdout, key.with_suffix(".pub")).valid is False


@needs_minisign
def test_minisign_signs_and_verifies(tmp_path: Path) -> None:
    secret, public = tmp_path / "minisign.key", tmp_path / "minisign.pub"
    subprocess.run(
        ["minisign", "-G", "-W", "-f", "-p", str(public), "-s", str(secret)],
        check=True, capture_output=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert format_of(secret) == "minisign"
    folder = tmp_path / "audit"
    entries = written(folder, key=secret, signed="minisign")
    assert entries[-1].data["signature"] == "seal.minisig"
    found = verify(folder, public)
    assert found.ok
    assert found.signature is not None
    assert found.signature.trusted
    unnamed = verify(folder)
    assert unnamed.ok
    assert unnamed.signature is not None
    assert unnamed.signature.valid is None
    (folder / "seal.minisig").write_text(sign("another seal\n", secret))
    assert not verify(folder, public).ok


def test_a_missing_program_and_a_wrong_key_have_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signature.shutil, "which", lambda name: None)
    key = tmp_path / "key"
    key.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    with pytest.raises(UsageError, match="ssh-keygen is not installed") as caught:
        written(tmp_path / "audit", key=key, signed="ssh")
    assert "openssh-client" in caught.value.remedy
    assert not (tmp_path / "audit").exists(), "an audit that shall be signed is signed or not there"
    key.write_text("untrusted comment: minisign encrypted secret key\n")
    with pytest.raises(UsageError, match="minisign is not installed"):
        sign("text", key)
    key.write_text("a diary")
    with pytest.raises(UsageError, match="no key"):
        format_of(key)
    with pytest.raises(UsageError, match="cannot be read"):
        format_of(tmp_path / "none")
    unchecked = check("text", "-----BEGIN SSH SIGNATURE-----\n")
    assert (unchecked.valid, "not installed" in unchecked.note) == (None, True)


@needs_ssh
def test_a_key_that_the_program_refuses(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nno key\n")
    with pytest.raises(SignatureError, match="did not sign"):
        sign("text", key)


def test_a_seal_is_one_line(tmp_path: Path) -> None:
    entries = written(tmp_path / "audit")
    last = (tmp_path / "audit" / ENTRIES).read_text(encoding="utf-8").splitlines()[-1]
    assert entries[-1].line == last
