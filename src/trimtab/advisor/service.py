"""The operator as a process: several replicas may run, one of them acts."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from trimtab.advisor.operator import Operator
from trimtab.advisor.settings import ADVERTISED, NAME, AdvisorSettings
from trimtab.kube.client import Client
from trimtab.kube.events import EventRecorder
from trimtab.kube.http.authorize import Authorizer, authorized
from trimtab.kube.http.web import Tls, Web, probe_route
from trimtab.kube.runtime.lease import Elector
from trimtab.kube.runtime.service import Service, unique_identity


async def serve(client: Client, settings: AdvisorSettings) -> None:
    """Run the operator until SIGTERM."""
    identity = unique_identity()
    elector = Elector(client, NAME, settings.namespace, identity)
    recorder = EventRecorder(client, f"trimtab.dev/{NAME}", identity)
    operator = Operator(client.guarded(elector.check), recorder, settings, reading=client)
    told = probe_route(ADVERTISED, lambda: operator.advertised)
    web = Web([told], host=settings.host, port=settings.port, tls=_tls(settings))
    service = Service(
        NAME,
        reflectors=[operator.configs],
        controllers=[operator],
        jobs=[operator.watches.run],
        elector=elector,
        recorder=recorder,
        web=web,
    )
    if not settings.open_metrics:
        web.routes = authorized(web.routes, "/metrics", Authorizer(client))
    await service.run()


def _tls(settings: AdvisorSettings) -> Tls | None:
    if settings.certificate and settings.key:
        return Tls(settings.certificate, settings.key)
    if settings.self_signed:
        return self_signed(Path(mkdtemp(prefix="trimtab-advisor-")), NAME)
    return None


# A certificate for a service whose callers only need privacy: made at the start, kept nowhere.
#
# Who calls is told by their token; a cluster that also wants to know whom it calls mounts a
# certificate of its own authority instead.


def self_signed(directory: Path, name: str) -> Tls:
    """Writes tls.crt and tls.key (0600) into `directory`; valid for a year."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=365))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Tls(
        _private(directory / "tls.crt", certificate.public_bytes(Encoding.PEM)),
        _private(directory / "tls.key", pem),
    )


def _private(path: Path, content: bytes) -> Path:
    with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as out:
        out.write(content)
    return path
