"""`trimtab run qos`: the ledger of promised availability, its stamps and its page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from trimtab.cli.run.commands import API_SERVER, ClientCa, ClientName, Kubeconfig, LogLevel, client
from trimtab.errors import ConfigError

if TYPE_CHECKING:
    from trimtab.qos.promise.limits import Limits

Flag = Annotated[bool, Parameter(negative="")]


def qos(
    *,
    kubeconfig: Kubeconfig = None,
    address: Annotated[str, Parameter(name=("--address", "--host"))] = "127.0.0.1",
    port: int = 10000,
    webhook_address: str = "",
    webhook_port: int = 9444,
    certificate: Annotated[Path | None, Parameter(name=("--certificate", "--tls-cert"))] = None,
    key: Annotated[Path | None, Parameter(name=("--key", "--tls-key"))] = None,
    client_ca: ClientCa = None,
    client_name: ClientName = API_SERVER,
    bindings: str = "http://127.0.0.1:10001/bindings",
    default_slo: str = "0.80",
    class_slo: tuple[str, ...] = (),
    safety_margin: str = "30s",
    vm_margin: str = "5m",
    half_life: str = "0",
    running_when: Literal["bound", "ready"] = "bound",
    charge_binding: Flag = False,
    max_wait: str = "0",
    max_debt: str = "1h",
    scheduler_name: tuple[str, ...] = ("default-scheduler",),
    highest_slo: str = "1",
    promise_budget: float | None = None,
    enforce_promises: Flag = False,
    contact: str = "whoever runs this cluster",
    legacy: Flag = False,
    measure_only: Flag = False,
    log_level: LogLevel = "info",
) -> None:
    """Keep account of every controller's running and waiting time, and stamp its pods.

    Serves the table of all controllers at /, JSON at /v1/…, /healthz, /readyz and /metrics.
    Of several replicas one stamps and writes checkpoints (lease trimtab-system/qos).

    Parameters
    ----------
    address
        Where the page listens; elsewhere than on this computer it wants a token.
    port
        The page's port; 0 takes a free one.
    webhook_address
        Where the webhook listens, if not where the page does.
    webhook_port
        The port of the webhook that stamps pods when they are created.
    certificate
        PEM file with the webhook's certificate; without one pods are stamped a moment later.
    key
        PEM file with its key.
    bindings
        Where the scheduler's plugin lists its bindings; an empty text if there is no plugin.
    default_slo
        The availability promised to whoever declares none.
    class_slo
        NAME=SLO: what a PriorityClass promises; may be repeated.
    safety_margin
        Whoever would miss its SLO within this time is urgent.
    vm_margin
        The same for VMs.
    half_life
        Running and waiting count half after this time; 0: they count for ever.
    running_when
        A pod runs once it is bound, or only while it is ready; unready time is charged as waiting.
    charge_binding
        Charge binding as waiting.
    max_wait
        A pod that waited longer goes before all that are not urgent; 0: four margins, at least
        ten minutes.
    max_debt
        How much of what its controller owes counts for a new pod's place in the queue.
    scheduler_name
        Pods of these schedulers are stamped; may be repeated.
    highest_slo
        The highest SLO that may be promised in a namespace without the annotation
        qos.trimtab.dev/max-slo.
    promise_budget
        Share of the nodes' cores that may be promised in all, as 0.9; without it any.
    enforce_promises
        Refuse pods above these limits and cap their promises; otherwise they are warned of and
        counted.
    contact
        Whom a refusal tells people to ask.
    legacy
        Read the bare annotations `slo` and `controller`; all others share one row without a name.
    measure_only
        Keep accounts and serve the page, but stamp nothing.
    """
    from trimtab import obs
    from trimtab.kube.runtime.service import run
    from trimtab.model.duration import parse_duration
    from trimtab.qos.promise.slo import parse_slo
    from trimtab.qos.service.service import serve
    from trimtab.qos.settings import NAME, Settings

    obs.configure(log_level)
    settings = Settings(
        address=address,
        port=port,
        webhook_address=webhook_address,
        webhook_port=webhook_port,
        certificate=certificate,
        key=key,
        client_ca=client_ca,
        client_name=client_name,
        bindings=bindings,
        legacy=legacy,
        measure_only=measure_only,
        safety_margin_s=parse_duration(safety_margin, "--safety-margin"),
        vm_margin_s=parse_duration(vm_margin, "--vm-margin"),
        half_life_s=parse_duration(half_life, "--half-life"),
        running_when=running_when,
        charge_binding=charge_binding,
        max_wait_s=parse_duration(max_wait, "--max-wait"),
        max_debt_s=parse_duration(max_debt, "--max-debt"),
        default_slo=parse_slo(default_slo, "--default-slo"),
        class_slo=dict(_class(each) for each in class_slo),
        scheduler_names=scheduler_name,
        limits=_limits(highest_slo, promise_budget, enforce_promises, contact),
    )
    run(serve(client(kubeconfig, NAME), settings))


def _limits(highest_slo: str, budget: float | None, enforced: bool, contact: str) -> "Limits":
    from trimtab.qos.promise.limits import Limits
    from trimtab.qos.promise.slo import parse_slo

    if budget is not None and not 0 < budget <= 100:
        raise ConfigError(f"--promise-budget {budget:g}: give a share of the cores, as 0.9")
    return Limits(
        highest_slo=parse_slo(highest_slo, "--highest-slo"),
        budget=budget,
        enforced=enforced,
        contact=contact,
    )


def _class(text: str) -> tuple[str, float]:
    from trimtab.qos.promise.slo import parse_slo

    name, equals, slo = text.partition("=")
    if not name or not equals:
        raise ConfigError(f"--class-slo {text}: write it like high-priority=0.99")
    return name, parse_slo(slo, f"--class-slo {name}")
