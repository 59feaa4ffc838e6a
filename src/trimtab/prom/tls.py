"""Whom a connection to Prometheus trusts, and what a failed handshake means."""

import ssl
from collections.abc import Iterable, Sequence

import httpx2

from trimtab.errors import ConfigError


def trusting(authorities: Sequence[str]) -> ssl.SSLContext:
    """This computer's certificate authorities (or those of SSL_CERT_FILE) and some more, as PEM."""
    context = httpx2.create_ssl_context()
    for text in authorities:
        try:
            context.load_verify_locations(cadata=text)
        except ssl.SSLError as error:
            raise ConfigError(
                "the certificate authority for Prometheus is not PEM; "
                "give a file that begins with -----BEGIN CERTIFICATE-----"
            ) from error
    return context


def tls_trouble(error: BaseException) -> str:
    """What is wrong with the certificate and what to do; empty if that is not the trouble."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _verdict(cause)
        if isinstance(cause, ssl.SSLError):
            return f"no TLS connection ({cause.reason or cause}); is it https, or http?"
    return ""


def _verdict(error: ssl.SSLCertVerificationError) -> str:
    why = error.verify_message.rstrip(".")
    if "hostname" in why.lower() or "ip address" in why.lower():
        return f"its certificate is for another name ({why}); use the name it is made for"
    if "expired" in why:
        return f"its certificate is not valid any more ({why})"
    return f"its certificate is not trusted ({why}); give its authority with --prometheus-ca FILE"


def _causes(error: BaseException) -> Iterable[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
