"""What many comparisons say together: how many scenarios of each theme agree, and what differs."""

from collections import Counter
from collections.abc import Iterable, Iterator

from conformance.kubevirt.compare import Compared
from conformance.kubevirt.differences import KNOWN


def table(compared: Iterable[Compared]) -> Iterator[str]:
    """A Markdown table with a row for each theme, and one for all."""
    every = list(compared)
    themes = list(dict.fromkeys(each.scenario.theme for each in every))
    names = [known.name for known in KNOWN]
    yield f"| theme | scenarios | agree | {' | '.join(names)} | unexplained |"
    yield "|---|" + "---|" * (len(names) + 3)
    for theme in themes:
        yield _row(theme, [each for each in every if each.scenario.theme == theme], names)
    yield _row("all", every, names)


def _row(theme: str, compared: list[Compared], names: list[str]) -> str:
    by_rule = Counter(why for each in compared for why in {d.why for d in each.differences} if why)
    cells = [
        len(compared),
        sum(not each.differences for each in compared),
        *(by_rule[name] for name in names),
        sum(bool(each.unexplained) for each in compared),
    ]
    return f"| {theme} | {' | '.join(map(str, cells))} |"


def by_kind(compared: Iterable[Compared]) -> Counter[str]:
    """Differences by what differs: an answer, the moves of a VM and so on."""
    return Counter(difference.aspect.name for each in compared for difference in each.differences)


def answers(compared: Iterable[Compared]) -> Counter[str]:
    """What KubeVirt answered to the steps."""
    return Counter(answer for each in compared for answer in each.theirs.answers)


def waits(compared: Iterable[Compared]) -> Counter[int]:
    """Waits after failures that KubeVirt took, in seconds."""
    return Counter(
        int(20 * 2.0**power)
        for each in compared
        for fate in each.theirs.fates
        for power in fate.backoff
    )
