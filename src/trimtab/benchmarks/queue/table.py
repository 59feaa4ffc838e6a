"""The report of a queue experiment on a terminal."""

from trimtab.benchmarks.queue.experiment import Gain, Report
from trimtab.view.terminal import out, show_table

HEAD = (
    "class",
    "SLO",
    "side",
    "mean QoS",
    "fulfilled",
    "deficit",
    "Gini",
    "pods each",
    "replaced in",
)


def show_report(report: Report) -> None:
    """One row for every class and side, then what they say together."""
    rows = [
        (
            f.group,
            f"{f.slo:.2f}",
            f.side,
            f"{f.mean_qos:.3f}",
            f"{f.fulfilled:.0%}",
            f"{f.deficit:.4f}",
            f"{f.gini:.3f}",
            f"{f.incarnations:.1f}",
            f"{f.replacing_s * 1000:.0f} ms",
        )
        for f in sorted(report.figures, key=lambda f: -f.slo)
    ]
    show_table(HEAD, rows, right=HEAD[3:], drop=("Gini", "deficit"))
    out.print(f"demand {report.demand:.2f} of capacity, seeds {report.seeds}", markup=False)
    for side, gain in (("qos", report.gain), ("rank", report.rank_gain)):
        if gain is not None:
            out.print(f"upper classes, stock over {side}: {gain_text(gain)}", markup=False)
    for group, fairer in report.fairer.items():
        word = "lower than" if fairer else "NOT lower than"
        out.print(f"Gini in {group}: {word} with ranks alone", markup=False)


def gain_text(gain: Gain) -> str:
    """In words: smaller or larger, and whether the seeds agree."""
    smaller = gain.ratio >= 1
    times, word = (gain.ratio, "smaller") if smaller else (1 / gain.ratio, "larger")
    said = f"deficit {times:.1f} times {word}"
    if gain.low is None or gain.high is None:
        return f"{said} (one seed: no interval)"
    low, high = (gain.low, gain.high) if smaller else (1 / gain.high, 1 / gain.low)
    doubt = "" if gain.is_certain else "; the seeds do not agree that there is a difference"
    return f"{said} (95 % over {gain.seeds} seeds: {low:.1f} to {high:.1f}{doubt})"
