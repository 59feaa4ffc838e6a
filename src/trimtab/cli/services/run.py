"""`trimtab run`: one service in this process, the same in a lab and in a Deployment.

Every service ends with 0 on SIGTERM, with 2 on a bad configuration and with 1 otherwise. A
command is made from the service's declaration when it is asked for: commands are attributes of
this module (`vm_controller`), so that `trimtab run NAME` loads that service only.
"""

from collections.abc import Callable
from inspect import Parameter as Argument
from inspect import Signature
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from trimtab.cli.common.numbers import within
from trimtab.cli.common.output import examples
from trimtab.install.service import Connect, ServiceSpec
from trimtab.kube.runtime.options import Declared, declared, read
from trimtab.obs.log import Level
from trimtab.stacks.registry import find_service, service_names

Kubeconfig = Annotated[
    Path | None,
    Parameter(name="--kubeconfig", help="How to reach the API server; in a pod it is not needed."),
]
LogLevel = Annotated[Level, Parameter(name="--log-level", help="What is logged, as JSON lines.")]

app = App(name="run", help="One service in this process, until SIGTERM.")
for _name in service_names():
    app.command(f"{__name__}:{_name.replace('-', '_')}", name=_name)


def __getattr__(name: str) -> App:
    try:
        return command(find_service(name.replace("_", "-")))
    except KeyError as error:
        raise AttributeError(name) from error


def command(service: ServiceSpec) -> App:
    """`trimtab run NAME`; it ends with 0 on SIGTERM, 2 on bad configuration, 1 otherwise."""
    app = App(name=service.name, help=service.help)
    if service.examples:
        app.help_epilogue = examples(*service.examples)
    app.default(_function(service))
    return app


def _function(service: ServiceSpec) -> Callable[..., None]:
    def run_service(
        *, kubeconfig: Path | None = None, log_level: Level = "info", **given: Any
    ) -> None:
        from trimtab import obs
        from trimtab.kube.runtime.service import run

        obs.configure(log_level)
        settings = read(service.options, given)
        run(service.serve(Connect(service.name, kubeconfig), settings))

    options = sorted(declared(service.options), key=lambda each: not each.required)
    needed = sum(each.required for each in options)
    arguments = [
        *(_option(each) for each in options[:needed]),
        _argument("kubeconfig", Kubeconfig, None),
        *(_option(each) for each in options[needed:]),
        _argument("log_level", LogLevel, "info"),
    ]
    run_service.__name__ = service.name.replace("-", "_")
    # cyclopts asks the signature for order and defaults, and the annotations for types
    run_service.__signature__ = Signature(arguments)  # type: ignore[attr-defined]
    run_service.__annotations__ = {each.name: each.annotation for each in arguments}
    return run_service


def _argument(name: str, annotation: Any, default: Any) -> Argument:
    return Argument(name, Argument.KEYWORD_ONLY, annotation=annotation, default=default)


def _option(each: Declared) -> Argument:
    option, how = each.option, dict[str, Any]()
    if option.least is not None and option.most is not None:
        how["validator"] = within(option.least, option.most)
    if each.type is bool and each.default is False:
        how["negative"] = ""
    if not option.shown:
        how["show_default"] = False
    kind, default = each.type, each.default
    if option.parse is not None:  # a text up to here; `read` parses it
        kind = tuple[str, ...] if option.several else str
        default = default if each.required or default is None else option.write(default)
    annotation: Any = Annotated[kind, Parameter(name=each.names, help=each.help, **how)]
    return _argument(each.key, annotation, Argument.empty if each.required else default)
