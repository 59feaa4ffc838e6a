"""What classes ask for, against what the nodes have: advice on overbooking."""

from trimtab.qos.ledger.pod_life import LifePod
from trimtab.qos.page.classes import Advice, ClassReport, Member, overbooking, report
from trimtab.qos.page.rows import Book
from trimtab.qos.queue.obstacle import amount, asked
from trimtab.qos.queue.promise_limits import Ask, Promised, refusal
from trimtab.qos.service.keeper import Keeper


class Demand:
    def __init__(self, keeper: Keeper, book: Book) -> None:
        self._keeper = keeper
        self._book = book

    def classes(self, now: int) -> list[ClassReport]:
        """The promises of each class, kept and not, by SLO."""
        groups: dict[str, list[Member]] = {}
        for standing in self._book.standings(now):
            member = Member(standing.qos, standing.promise.slo, standing.account.incarnations)
            groups.setdefault(standing.promise.class_name, []).append(member)
        reports = [report(name, members) for name, members in groups.items()]
        return sorted(reports, key=lambda each: (-each.slo, each.name))

    def advice(self) -> list[Advice]:
        """Which class asks for more cores than its promise leaves it."""
        wanted: dict[str, tuple[float, float]] = {}
        for account in self._keeper.ledger.accounts.values():
            promise = self._keeper.promise(account)
            slo, cores = wanted.get(promise.class_name, (promise.slo, 0.0))
            pods = self._keeper.members.get(account.owner.uid, {}).values()
            cores += sum(asked(pod, "cpu") for pod in pods if _is_alive(pod))
            wanted[promise.class_name] = (max(slo, promise.slo), cores)
        demands = [(name, slo, cores) for name, (slo, cores) in wanted.items()]
        return overbooking(demands, self._capacity())

    def promised(self) -> Promised:
        """Cores that are promised to pods that there are, each as far as its SLO goes."""
        cores = 0.0
        for account in self._keeper.ledger.accounts.values():
            pods = self._keeper.members.get(account.owner.uid, {}).values()
            requested = sum(asked(pod, "cpu") for pod in pods if _is_alive(pod))
            cores += self._keeper.promise(account).slo * requested
        return Promised(cores, self._capacity())

    def refusal(self, pod: LifePod) -> str | None:
        """Why a pod that is about to exist should not be promised what it asks for."""
        keeper = self._keeper
        owner = keeper.stores.owner_of(pod)
        ask = Ask(
            f"{owner.kind} {owner.namespace}/{owner.name}",
            owner.namespace,
            keeper.promise_of(owner, pod, asked=True, uncapped=True).slo,
            asked(pod, "cpu"),
        )
        # The sum is over all accounts, so it is made only where there is a budget.
        promised = Promised(0.0, 0.0) if keeper.limits.budget is None else self.promised()
        return refusal(ask, keeper.ceiling(owner), promised, keeper.limits)

    def _capacity(self) -> float:
        """Cores of the nodes that pods can be put on."""
        return sum(
            amount(node.status.allocatable.get("cpu", "0"), "cpu")
            for node in self._keeper.stores.nodes.store
            if not node.spec.unschedulable
        )


def _is_alive(pod: LifePod) -> bool:
    ended = pod.status.phase in ("Succeeded", "Failed")
    return not ended and pod.metadata.deletion_timestamp is None
