"""The CustomResourceDefinition of QosAccount; its columns are the page's."""

from trimtab.kube.crd_schema import Schema, column, count, crd, flag, number, obj, string
from trimtab.qos.ledger.pod_life import MOST_TURNS
from trimtab.qos.ledger.sums import TimeSums
from trimtab.qos.wire import MOST_PODS, QOS_ACCOUNTS


def crds() -> list[Schema]:
    columns = [
        column("Controller", ".status.controller"),
        column("QoS/SLO", ".status.qos"),
        column("TTV", ".status.ttv"),
        column("Running", ".status.running"),
        column("Waiting", ".status.waiting"),
        column("Binding", ".status.binding"),
        column("State", ".status.state", wide=True),
        column("Kind", ".spec.owner.kind", wide=True),
        column("Gap", ".status.gap", wide=True),
    ]
    schema = obj({"spec": _spec(), "status": _status()}, required=["spec"])
    return [crd(QOS_ACCOUNTS, ["qos"], schema, columns)]


def _spec() -> Schema:
    owner = {
        "uid": string(64, "Its uid."),
        "kind": string(63, "Its kind."),
        "name": string(253, "Its name."),
        "namespace": string(63, "Its namespace."),
        "apiVersion": string(320, "Its API version."),
    }
    return obj(
        {"owner": obj(owner, required=["uid"], text="The controller that the account is of.")},
        required=["owner"],
    )


def _status() -> Schema:
    return obj(
        {
            "controller": string(320, "The row's name on the page."),
            "qos": string(32, "Availability so far, and the promised one."),
            "ttv": string(32, "Time to violation."),
            "running": string(32, "Time that its pods have run."),
            "waiting": string(32, "Time that they have waited."),
            "binding": string(32, "Time that their binding took; ~ if nobody measured it."),
            "state": string(32, "ok, atRisk or violated."),
            "gap": string(32, "Time of which nothing is known, if there is any."),
            "ledger": _ledger(),
        }
    )


def _ledger() -> Schema:
    return obj(
        {
            "asOf": _ns("When this was written."),
            "resourceVersion": string(64, "Of the pods: what happened later is not in here."),
            "completeVersion": string(64, "Up to here all accounts were written down."),
            "closed": obj(
                {name: _ns("") for name in TimeSums.__struct_fields__},
                text="Sums over pods that are over.",
            ),
            "window": obj(
                {
                    "halfLife": _ns(""),
                    "asOf": _ns(""),
                    "running": number(""),
                    "waiting": number(""),
                },
                text="The same with a half-life.",
            ),
            "pods": {"type": "array", "maxItems": MOST_PODS, "items": _pod()},
            "done": {
                "type": "array",
                "maxItems": MOST_PODS,
                "items": string(64),
                "description": "Pods that are in the sums and still there.",
            },
            "left": {
                "type": "object",
                "maxProperties": MOST_PODS,
                "additionalProperties": _ns(""),
                "description": "Pods that another account has, and since when.",
            },
            "life": _life(),
            "incarnations": count("How many pods there ever were."),
            "approximate": count("Pods over whose binding nobody measured."),
            "gap": _ns("Time of which nothing is known."),
        },
        text="What the service continues from; all times in nanoseconds since 1970.",
    )


def _pod() -> Schema:
    moments = ("created", "ungated", "bindStart", "bound", "ended", "started")
    names = {
        "uid": string(64),
        "name": string(253),
        "exact": flag(False, "Binding was measured."),
        "gated": flag(False, "It had scheduling gates."),
        "joined": flag(False, "It came from another account when it was created here."),
    }
    turns: Schema = {
        "type": "array",
        "maxItems": MOST_TURNS,
        "items": _ns(""),
        "description": "When it became ready, then not ready, and so on.",
    }
    fields = names | {moment: _ns("") for moment in moments} | {"turns": turns}
    return obj(fields, required=["uid", "created"])


def _life() -> Schema:
    stop = obj({"start": _ns(""), "end": _ns("")}, required=["start"])
    return obj(
        {
            "since": _ns("When the VM began."),
            "settled": _ns("Up to when all is in the sums."),
            "stops": {"type": "array", "maxItems": 64, "items": stop},
        },
        text="Of VMs only.",
    )


def _ns(text: str) -> Schema:
    schema: Schema = {"type": "integer", "format": "int64", "minimum": 0}
    return schema | {"description": text} if text else schema
