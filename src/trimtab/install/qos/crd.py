"""The CustomResourceDefinition of QosAccount; its columns are the page's."""

from trimtab.install.definitions import Note, Notes, Schema, column, definition, under
from trimtab.qos.ledger.pod_life import MOST_TURNS
from trimtab.qos.ledger.sums import TimeSums
from trimtab.qos.wire import MOST_PODS, QOS_ACCOUNTS

_MOMENTS = ("created", "ungated", "bindStart", "bound", "ended", "started", "turns[]")


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
    notes: Notes = {
        "spec": Note(required=True),
        "spec.owner": Note("The controller that the account is of.", required=True),
        "spec.owner.uid": Note("Its uid.", most=64),
        "spec.owner.kind": Note("Its kind.", most=63),
        "spec.owner.name": Note("Its name.", most=253),
        "spec.owner.namespace": Note("Its namespace.", most=63),
        "spec.owner.apiVersion": Note("Its API version.", most=320),
        "status.controller": Note("The row's name on the page.", most=320),
        "status.qos": Note("Availability so far, and the promised one.", most=32),
        "status.ttv": Note("Time to violation.", most=32),
        "status.running": Note("Time that its pods have run.", most=32),
        "status.waiting": Note("Time that they have waited.", most=32),
        "status.binding": Note("Time that their binding took; ~ if nobody measured it.", most=32),
        "status.state": Note("ok, atRisk or violated.", most=32),
        "status.gap": Note("Time of which nothing is known, if there is any.", most=32),
        "status.ledger": Note(
            "What the service continues from; all times in nanoseconds since 1970."
        ),
        **under("status.ledger", _ledger()),
        **under("status.ledger.pods[]", _pod()),
    }
    return [definition(QOS_ACCOUNTS, notes, short=["qos"], columns=columns)]


def _ledger() -> Notes:
    return {
        "asOf": _ns("When this was written."),
        "resourceVersion": Note("Of the pods: what happened later is not in here.", most=64),
        "completeVersion": Note("Up to here all accounts were written down.", most=64),
        "closed": Note("Sums over pods that are over."),
        **under("closed", dict.fromkeys(TimeSums.__struct_fields__, _ns())),
        "window": Note("The same with a half-life."),
        "window.halfLife": _ns(),
        "window.asOf": _ns(),
        "pods": Note(most=MOST_PODS),
        "done": Note("Pods that are in the sums and still there.", most=MOST_PODS),
        "done[]": Note(most=64),
        "left": Note("Pods that another account has, and since when.", most=MOST_PODS),
        "left[]": _ns(),
        "life": Note("Of VMs only."),
        "life.since": _ns("When the VM began."),
        "life.settled": _ns("Up to when all is in the sums."),
        "life.stops": Note(most=64),
        "life.stops[].start": _ns(),
        "life.stops[].end": _ns(),
        "incarnations": Note("How many pods there ever were."),
        "approximate": Note("Pods over whose binding nobody measured."),
        "gap": _ns("Time of which nothing is known."),
    }


def _pod() -> Notes:
    return {
        "uid": Note(most=64),
        "name": Note(most=253),
        "exact": Note("Binding was measured.", filled=True),
        "gated": Note("It had scheduling gates.", filled=True),
        "joined": Note("It came from another account when it was created here.", filled=True),
        **dict.fromkeys(_MOMENTS, _ns()),
        "turns": Note("When it became ready, then not ready, and so on.", most=MOST_TURNS),
        "vague": None,  # about what was seen just now; an account keeps pods without it
    }


def _ns(text: str = "") -> Note:
    return Note(text, also={"format": "int64"})
