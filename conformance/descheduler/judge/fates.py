"""How evictions in background went on, as the in-flight cache heard of it (2.4)."""

from collections.abc import Iterator

from conformance.descheduler.recording import Recording
from trimtab.policy.inflight import InFlight, PodEvent


def fates_of(recording: Recording) -> Iterator[str]:
    """One word for each thing that happened to an entry since the process began."""
    known, assumed_any = InFlight(), False
    for told in recording.history:
        if told.assumed is not None:
            one = told.assumed
            known = known.assume(one.uid, one.node, one.namespace, one.time)
            assumed_any = True
        if told.event is not None:
            after = known.observe(told.event)
            yield from _fate(known, after, told.event, assumed_any)
            known = after


def _fate(before: InFlight, after: InFlight, event: PodEvent, later: bool) -> Iterator[str]:
    uid, pod = event.pod.uid, event.pod
    if uid in after and uid not in before:
        yield "detected" if event.kind == "updated" or later else "recovered"
    if uid in before and uid in after and not pod.eviction_in_progress:
        yield "kept"
    if uid in before and uid not in after:
        if event.kind == "deleted":
            yield "deleted"
        elif not pod.request_evict_only:
            yield "withdrawn"
        else:
            yield "finished" if pod.finished else "cancelled"
