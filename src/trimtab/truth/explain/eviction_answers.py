"""What the API server would say to an eviction, as far as a look at the VMs told.

The descheduler's rules know nothing of VMs; KubeVirt's webhook does. What was seen of it is
kept in the snapshot as annotations of our own on the VM's pod, which no rule reads.
"""

from trimtab.model.snapshot import Snapshot
from trimtab.policy.choices import Answer, Answers, Choose, as_given, willing
from trimtab.policy.cycle import Cycle
from trimtab.policy.decide import decide
from trimtab.policy.snapshot_view import SnapshotView, inflight_of, policy_of
from trimtab.policy.view import PodView

EVICTION_ANSWER = "trimtab.dev/eviction-answer"
"""`refused: why` or `evicted: why`; without it the pod's own annotations decide."""
EVACUATING = "trimtab.dev/evacuating"
"""The node that the VM is marked to leave."""


def answers_of(snapshot: Snapshot) -> Answers:
    """`willing`, but for the pods of which something else was seen."""
    told = {
        pod.uid: Answer(word)
        for pod in snapshot.pods
        if (word := pod.annotations.get(EVICTION_ANSWER, "").partition(":")[0])
        in (Answer.REFUSED.value, Answer.EVICTED.value)
    }

    def answer(pod: PodView) -> Answer:
        return told.get(pod.uid) or willing(pod)

    return answer


def refusal_of(snapshot: Snapshot, uid: str) -> str:
    """Why the API server would refuse, or empty."""
    for pod in snapshot.pods:
        word, _, why = pod.annotations.get(EVICTION_ANSWER, "").partition(": ")
        if pod.uid == uid and word == Answer.REFUSED.value:
            return why
    return ""


def decide_as_answered(snapshot: Snapshot, choose: Choose = as_given) -> Cycle:
    """The cycle on this snapshot, with the answers that its VMs would get."""
    return decide(
        SnapshotView(snapshot),
        policy_of(snapshot),
        inflight_of(snapshot),
        choose,
        background=snapshot.evictions_in_background,
        answer=answers_of(snapshot),
    )
