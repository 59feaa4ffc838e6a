"""The lab's certificates: one CA, ECDSA P-256 throughout, renewed before they expire.

The service-account key is in SEC1 form ("BEGIN EC PRIVATE KEY"): with PKCS#8 the API server
exits, saying that the file holds no key. A CA with ten leaves takes 10 ms.
"""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

from trimtab.files.writing import make_private_dir, write_private
from trimtab.lab.components.identity import ClientCert, ServerCert

CA_DAYS, LEAF_DAYS, RENEW_DAYS = 3650, 365, 30


class Pair(Struct, frozen=True):
    """A certificate with its key; the CA is one that signs everything in one lab."""

    cert: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def ensure_pki(
    pki: Path, clients: tuple[ClientCert, ...], servers: tuple[ServerCert, ...], now: datetime
) -> None:
    """Make what is missing or torn, renew what ends within a month, keep the rest as it is."""
    authority = _ensure_authority(pki, now)
    if _read_key(pki / "sa.key") is None:
        write_private(pki / "sa.key", _key_pem(_new_key()))
    for client in clients:
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, g) for g in client.groups]
        subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, client.user)])
        _ensure_leaf(pki, client.name, subject, (), authority, now)
    for server in servers:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, server.name)])
        hosts = tuple(dict.fromkeys(("localhost", "127.0.0.1", "::1", *server.hosts)))
        _ensure_leaf(pki, server.name, subject, hosts, authority, now)


def _ensure_authority(pki: Path, now: datetime) -> Pair:
    cert_file, key_file = pki / "ca.crt", pki / "ca.key"
    pair = _read_pair(cert_file, key_file)
    if pair is not None and not _ends_soon(pair.cert, now):
        return pair
    fresh = _new_key()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "trimtab-lab-ca")])
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    cert = (
        _builder(name, name, fresh.public_key(), now, CA_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(fresh.public_key()), False)
        .sign(fresh, hashes.SHA256())
    )
    write_private(key_file, _key_pem(fresh))
    write_private(cert_file, _cert_pem(cert))
    return Pair(cert, fresh)


def _ensure_leaf(
    pki: Path,
    name: str,
    subject: x509.Name,
    hosts: tuple[str, ...],
    authority: Pair,
    now: datetime,
) -> None:
    cert_file, key_file = pki / f"{name}.crt", pki / f"{name}.key"
    pair = _read_pair(cert_file, key_file)
    if pair is not None and _still_good(pair.cert, subject, hosts, authority, now):
        return
    key = _new_key()
    make_private_dir(cert_file.parent)
    write_private(key_file, _key_pem(key))
    write_private(cert_file, _cert_pem(_issue(subject, hosts, key, authority, now)))


def _read_pair(cert_file: Path, key_file: Path) -> Pair | None:
    """A certificate with its key; None if one is missing, torn or of another pair."""
    key = _read_key(key_file)
    try:
        cert = x509.load_pem_x509_certificate(cert_file.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    fits = key is not None and cert.public_key() == key.public_key()
    return Pair(cert, key) if key is not None and fits else None


def _read_key(file: Path) -> ec.EllipticCurvePrivateKey | None:
    try:
        key = serialization.load_pem_private_key(file.read_bytes(), password=None)
    except (FileNotFoundError, ValueError):
        return None
    return key if isinstance(key, ec.EllipticCurvePrivateKey) else None


def _still_good(
    cert: x509.Certificate,
    subject: x509.Name,
    hosts: tuple[str, ...],
    authority: Pair,
    now: datetime,
) -> bool:
    return (
        not _ends_soon(cert, now)
        and cert.subject == subject
        and _hosts(cert) == hosts
        and _signed_by(cert, authority)
    )


def _issue(
    subject: x509.Name,
    hosts: tuple[str, ...],
    key: ec.EllipticCurvePrivateKey,
    authority: Pair,
    now: datetime,
) -> x509.Certificate:
    issuer = authority.cert
    builder = _builder(subject, issuer.subject, key.public_key(), now, LEAF_DAYS)
    usage = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
    builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    builder = builder.add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), False
    )
    if hosts:
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        builder = builder.add_extension(names, critical=False)
    return builder.sign(authority.key, hashes.SHA256())


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public: ec.EllipticCurvePublicKey,
    now: datetime,
    days: int,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=days))
    )


def _ends_soon(cert: x509.Certificate, now: datetime) -> bool:
    return cert.not_valid_after_utc - now < timedelta(days=RENEW_DAYS)


def _signed_by(cert: x509.Certificate, authority: Pair) -> bool:
    mine = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    theirs = cert.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    return theirs == mine


def _hosts(cert: x509.Certificate) -> tuple[str, ...]:
    try:
        names = cert.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return tuple(str(name.value) for name in names)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _cert_pem(cert: x509.Certificate) -> bytes:
    return cert.public_bytes(serialization.Encoding.PEM)


def utc_now() -> datetime:
    """The time certificates are judged by."""
    return datetime.now(UTC)
