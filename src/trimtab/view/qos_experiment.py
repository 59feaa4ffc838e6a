"""The report of a queue experiment on a terminal."""

from trimtab.qos.experiment import Gain, Report
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
    show_table(HEAD, rows)
    out.print(f"demand {report.demand:.2f} of capacity, seeds {report.seeds}", markup=False)
    for side, gain in (("qos", report.gain), ("rank", report.rank_gain)):
        if gain is not None:
            out.print(f"upper classes, stock over {side}: {_told(gain)}", markup=False)
    for group, fairer in report.fairer.items():
        word = "lower than" if fairer else "NOT lower than"
        out.print(f"Gini in {group}: {word} with ranks alone", markup=False)


def _told(gain: Gain) -> str:
    return f"deficit {gain.ratio:.1f} times smaller (95 %: {gain.low:.1f} to {gain.high:.1f})"
