"""`trimtab qos`: who has the promised availability, who waits, who is ahead and why."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter
from rich.live import Live
from rich.text import Text

from trimtab.cli.cluster.options import ClusterOptions
from trimtab.cli.cluster.which import say
from trimtab.cli.common.numbers import Seconds
from trimtab.cli.common.output import Flag, Json, emit, examples
from trimtab.errors import ConfigError
from trimtab.lab.spec import name_option
from trimtab.qos.page.reader import PageReader
from trimtab.view.services.qos import show_explanation, show_history, show_queue, show_shortages
from trimtab.view.terminal import out, show_json

app = App(name="qos", help="Who has the promised availability, who waits, and why.")
app.command(
    "trimtab.cli.services.qos.experiment:experiment",
    name="experiment",
    help="What the queue's order is worth, measured on real schedulers.",
    help_epilogue=examples("trimtab qos experiment examples/qos/short.yaml"),
)

Namespace = Annotated[
    str, Parameter(name=("--namespace", "-n"), help="Only this namespace; otherwise all.")
]


@Parameter(name="*")
@dataclass(frozen=True)
class PageOptions(ClusterOptions):
    """Which page is asked: by its address, or that of a lab."""

    url: Annotated[
        str,
        Parameter(show_default=False, help="Where the page is; otherwise that of the lab."),
    ] = ""
    token_file: Annotated[
        Path | None, Parameter(help="A file with a token, for a page that wants one.")
    ] = None


HERE = PageOptions()


def _reader(where: PageOptions) -> PageReader:
    try:
        token = where.token_file.read_text(encoding="utf-8").strip() if where.token_file else ""
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ConfigError(f"--token-file {where.token_file}: {why}") from error
    return PageReader(where.url or _page_of(where), token)


def _page_of(where: PageOptions) -> str:
    """The page of the cluster that is meant; only a lab's port is known here."""
    cluster = where.cluster(quietly=True)
    if cluster.lab is None:
        raise ConfigError(
            f"the QoS page of {cluster} cannot be reached from here; forward the port 10000 of "
            "its kube-scheduler pod and give --url http://127.0.0.1:10000"
        )
    spec = cluster.lab.read_spec()
    port = spec.ports.get("qos") if spec else None
    if port is None:
        raise ConfigError(
            f"lab {cluster.lab.name} has no QoS page; start it with: "
            f"trimtab lab up{name_option(cluster.lab.name)} --with qos"
        )
    say(cluster)
    return f"http://127.0.0.1:{port}"


@app.command(
    help_epilogue=examples(
        "trimtab qos top",
        "trimtab qos top --sort ttv --wide",
        "trimtab qos top --watch 2",
        "trimtab qos top --url http://127.0.0.1:10000 --json",
    )
)
def top(
    *,
    sort: Literal["name", "ttv", "deadline"] = "name",
    namespace: Namespace = "",
    wide: Flag = False,
    watch: Seconds = 0.0,
    json: Json = False,
    where: PageOptions = HERE,
) -> None:
    """Show every controller's availability, time to violation, running, waiting and binding.

    Classes that are promised more than fits are told on stderr.

    Parameters
    ----------
    sort
        By name, or whoever is closest to missing its promise first.
    wide
        Also namespace, kind, state, replicas, deadline, rank and time behind scheduling gates.
    watch
        Show it again every so many seconds, until Ctrl-C.
    """
    with _reader(where) as reader:
        if json:
            show_json(reader.controllers(namespace))
            return
        query = {"sort": sort, "ns": namespace, "wide": "1" if wide else ""}
        if watch <= 0:
            print(reader.page(**query), end="")
            show_shortages(reader.overbooking(namespace))
            return
        _watch(reader, query, watch)


def _watch(reader: PageReader, query: dict[str, str], every_s: float) -> None:
    with Live(console=out, auto_refresh=False) as live:
        while True:
            live.update(Text(reader.page(**query), no_wrap=True), refresh=True)
            time.sleep(every_s)


@app.command(help_epilogue=examples("trimtab qos queue", "trimtab qos queue -n default --json"))
def queue(*, namespace: Namespace = "", json: Json = False, where: PageOptions = HERE) -> None:
    """Show the pods that wait for the scheduler, the next one first."""
    with _reader(where) as reader:
        pods = reader.queue(namespace)
    emit(pods, json, show_queue)


@app.command(help_epilogue=examples("trimtab qos explain default/web-5d-x7k2p"))
def explain(pod: str, /, *, json: Json = False, where: PageOptions = HERE) -> None:
    """Say where a waiting pod is in the queue, who is ahead and why, and about how long it takes.

    Parameters
    ----------
    pod
        namespace/name, or a name in the namespace default.
    """
    with _reader(where) as reader:
        told = reader.explain(pod if "/" in pod else f"default/{pod}")
    emit(told, json, show_explanation)


@app.command(help_epilogue=examples("trimtab qos history web", "trimtab qos history default/web"))
def history(controller: str, /, *, json: Json = False, where: PageOptions = HERE) -> None:
    """Show what happened to a controller's pods: created, bound, ended.

    Parameters
    ----------
    controller
        Its name, namespace/name or uid.
    """
    with _reader(where) as reader:
        answer = reader.history(controller)
    emit(answer, json, show_history)
