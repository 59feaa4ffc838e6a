"""Certificates: made once, renewed in time, closed to others."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from trimtab.lab.components.identity import ClientCert, ServerCert
from trimtab.lab.files.pki import ensure_pki

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLIENT = ClientCert("admin", "the admin", ("system:masters",))
SERVER = ServerCert("server", ("lab.example", "192.0.2.7"))


@pytest.fixture
def pki(tmp_path: Path) -> Path:
    ensure_pki(tmp_path, (CLIENT,), (SERVER,), NOW)
    return tmp_path


def cert(pki: Path, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate((pki / f"{name}.crt").read_bytes())


def contents(pki: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in pki.iterdir()}


def test_a_client_certificate_names_user_and_groups(pki: Path) -> None:
    subject = cert(pki, "admin").subject
    assert [a.value for a in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["the admin"]
    groups = subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    assert [a.value for a in groups] == ["system:masters"]


def test_a_server_certificate_is_good_for_its_hosts_and_the_loopback(pki: Path) -> None:
    names = cert(pki, "server").extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert {str(name.value) for name in names.value} == {
        "localhost",
        "127.0.0.1",
        "::1",
        "lab.example",
        "192.0.2.7",
    }


def test_every_leaf_is_signed_by_the_authority(pki: Path) -> None:
    key = cert(pki, "ca").public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    for name in ("admin", "server"):
        cert(pki, name).verify_directly_issued_by(cert(pki, "ca"))


def test_the_service_account_key_is_in_the_form_that_the_api_server_reads(pki: Path) -> None:
    assert (pki / "sa.key").read_bytes().startswith(b"-----BEGIN EC PRIVATE KEY-----")


def test_everything_is_closed_to_others(pki: Path) -> None:
    assert {file.stat().st_mode & 0o777 for file in pki.iterdir()} == {0o600}


def test_nothing_changes_while_all_is_good(pki: Path) -> None:
    before = contents(pki)
    ensure_pki(pki, (CLIENT,), (SERVER,), NOW + timedelta(days=300))
    assert contents(pki) == before


def test_leaves_are_renewed_in_their_last_month_and_the_authority_stays(pki: Path) -> None:
    before = contents(pki)
    ensure_pki(pki, (CLIENT,), (SERVER,), NOW + timedelta(days=340))
    after = contents(pki)
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"admin.crt", "admin.key", "server.crt", "server.key"}
    assert cert(pki, "admin").not_valid_after_utc == NOW + timedelta(days=340 + 365)


def test_an_authority_near_its_end_takes_its_leaves_along(pki: Path) -> None:
    before = contents(pki)
    ensure_pki(pki, (CLIENT,), (SERVER,), NOW + timedelta(days=3640))
    kept = {name for name, data in contents(pki).items() if before[name] == data}
    assert kept == {"sa.key"}  # tokens live on


@pytest.mark.parametrize(
    ("client", "server", "renewed"),
    [
        pytest.param(ClientCert("admin", "other"), SERVER, "admin", id="another user"),
        pytest.param(CLIENT, ServerCert("server", ("192.0.2.8",)), "server", id="another host"),
    ],
)
def test_a_changed_identity_gets_a_new_certificate(
    pki: Path, client: ClientCert, server: ServerCert, renewed: str
) -> None:
    before = contents(pki)
    ensure_pki(pki, (client,), (server,), NOW)
    after = contents(pki)
    changed = {name.split(".")[0] for name in after if after[name] != before[name]}
    assert changed == {renewed}


@pytest.mark.parametrize("name", ["ca.crt", "ca.key", "admin.crt", "admin.key", "sa.key"])
@pytest.mark.parametrize("keep", [0, 60])
def test_a_torn_file_is_made_anew(pki: Path, name: str, keep: int) -> None:
    (pki / name).write_bytes((pki / name).read_bytes()[:keep])
    ensure_pki(pki, (CLIENT,), (SERVER,), NOW)
    whole = contents(pki)
    ensure_pki(pki, (CLIENT,), (SERVER,), NOW)
    assert contents(pki) == whole
    assert len(whole[name]) > 100
    cert(pki, "admin").verify_directly_issued_by(cert(pki, "ca"))
