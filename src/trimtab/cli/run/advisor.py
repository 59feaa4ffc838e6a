"""`trimtab run advisor`: the operator of VirtPlatformConfigs."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from trimtab.cli.run.commands import Host, Kubeconfig, LogLevel, Port, client
from trimtab.model.names import SYSTEM_NAMESPACE


def advisor(
    *,
    kubeconfig: Kubeconfig = None,
    host: Host = "127.0.0.1",
    port: Port = 8444,
    certificate: Path | None = None,
    key: Path | None = None,
    self_signed: Annotated[bool, Parameter(negative="")] = False,
    open_metrics: Annotated[bool, Parameter(negative="")] = False,
    advertise: bool = True,
    namespace: str = SYSTEM_NAMESPACE,
    log_level: LogLevel = "info",
) -> None:
    """Plan, apply, watch and take back what VirtPlatformConfigs ask for.

    Of several replicas one acts (lease trimtab-system/advisor). Serves /healthz, /readyz and
    /metrics, the latter to those whom the API server lets get /metrics.

    Parameters
    ----------
    certificate
        PEM file with the certificate to serve TLS with; without it, plain HTTP.
    key
        PEM file with its key.
    self_signed
        Serve TLS with a certificate made at the start.
    open_metrics
        Serve /metrics to everybody who reaches the port.
    advertise
        Create a VirtPlatformConfig with action Ignore for every profile that has none.
    namespace
        Where the lease and the records for the way back are kept.
    """
    from tempfile import mkdtemp

    from trimtab import obs
    from trimtab.advisor.certificate import self_signed as make_certificate
    from trimtab.advisor.service import Listening, serve
    from trimtab.advisor.settings import NAME, Settings
    from trimtab.errors import ConfigError
    from trimtab.kube.http.web import Tls
    from trimtab.kube.runtime.service import run

    obs.configure(log_level)
    if (certificate is None) != (key is None):
        raise ConfigError("--certificate and --key belong together; give both or none")
    tls = Tls(certificate, key) if certificate and key else None
    if tls is None and self_signed:
        tls = make_certificate(Path(mkdtemp(prefix="trimtab-advisor-")), NAME)
    listening = Listening(host=host, port=port, tls=tls, open_metrics=open_metrics)
    settings = Settings(namespace=namespace, advertise=advertise)
    run(serve(client(kubeconfig, NAME), settings, listening))
