"""Seven scores of our own, each an answer to a complaint about the others.

Most change one thing about the default, `linear_amplified_ippd_k3`, so that a study can tell
what the change is worth: which samples it sees (sustained, stable, predictive, risk,
in_flight_aware) or what it calls normal (robust). The last is a level of a new kind.
"""

from trimtab.scores.expr import Expr
from trimtab.scores.inputs import (
    DIMENSIONS,
    FLOOR,
    cpu_in_flight,
    cpu_pressure,
    cpu_usage,
    excess_distance,
    excesses,
    inputs,
    length,
    memory_in_flight,
    memory_pressure,
    memory_usage,
    total,
)
from trimtab.scores.language import (
    absolute,
    average_over,
    clamp,
    cluster_record,
    mean,
    median,
    pick,
    predict,
    quantile_over,
    record,
    smaller,
    stddev_over,
)
from trimtab.scores.score import Score, define

# The ideal-point distances: how far a node lies above the mean in all inputs together.
#
# The one amplified threefold is what OpenShift's descheduler asks for by default. It has its own
# file because further scores start from it.
excess_norm = record("excess_norm", length(excesses))

IDEAL_POINT = define(
    "ideal_point_positive_distance",
    excess_norm,
    formula="sqrt(d_c² + d_p² + d_m² + d_q²)",
    choose="A distance with a meaning: 0.2 is 20 points above the mean in one input.",
    weakness="Rests too early: 10 points above the mean of the scores is a large imbalance.",
)


def _amplified(k: int, choose: str, weakness: str) -> Score:
    return define(
        f"linear_amplified_ippd_k{k}",
        excess_norm if k == 1 else k * excess_norm,
        formula=f"{k} · sqrt(d_c² + d_p² + d_m² + d_q²)",
        choose=choose,
        weakness=weakness,
        aliases=(f"linear_amplified_ideal_point_positive_distance:k{k}",),
    )


K3 = _amplified(
    3,
    "The default, here and in OpenShift: rests when level, reacts to 5 to 10 points.",
    "Instant spikes count fully; a third of the cluster at a distance above 0.33 all score 1.",
)
AMPLIFIED = (
    _amplified(1, "As a reference for k3 and k5.", "Identical to ideal_point_positive_distance."),
    K3,
    _amplified(
        5,
        "Small imbalances matter and migrations are cheap.",
        "Saturates at a distance of 0.2: beyond it, bad and worse nodes score the same.",
    ),
)


FIVE_MINUTES = 300.0
TEN_MINUTES = 600.0
AHEAD_S = 120.0  # one descheduling interval until someone acts, and a minute to migrate
RISK_AVERSION = 1.0
MAD_TO_SIGMA = 1.4826  # for a normal distribution
SMALLEST_SIGMA = 0.05  # nodes within five points of each other are level: do not magnify noise
NOTABLE_SIGMAS = 3.0  # this many together score a half


def sustained(of: Expr, name: str) -> Expr:
    """`of`, believed only while it stays on one side of the cluster's mean for 5 minutes.

    Above: the value exceeded three quarters of the time. Below: the value not exceeded three
    quarters of the time. A node that crosses the mean gets the mean, so nobody acts on it.
    """
    usual = cluster_record(f"{name}_usual", mean(average_over(of, FIVE_MINUTES)))
    held = record(f"{name}_floor", quantile_over(0.25, of, FIVE_MINUTES))
    capped = record(f"{name}_ceiling", quantile_over(0.75, of, FIVE_MINUTES))
    crossing = pick(capped, usual, then=usual, otherwise=capped)
    return pick(held, usual, then=held, otherwise=crossing)


def _robust() -> Expr:
    squared: list[Expr] = []
    for name, x in zip(DIMENSIONS, inputs, strict=True):
        middle = cluster_record(f"{name}_median", median(x))
        spread = cluster_record(f"{name}_mad", median(absolute(x - middle)))
        sigma = clamp(MAD_TO_SIGMA * spread, low=SMALLEST_SIGMA)
        squared.append((clamp(x - middle, low=0) / sigma) ** 2)
    outlying = record("robust_outlying", total(squared))
    return outlying / (outlying + NOTABLE_SIGMAS**2)


def _settled() -> list[Expr]:
    """The inputs as they will be when the migrations under way are done.

    Pressure falls at least in proportion to the load that leaves, so it is scaled down with
    it; load that arrives is not assumed to cause pressure.
    """
    cpu = clamp(cpu_usage + cpu_in_flight, low=0)
    memory = clamp(memory_usage + memory_in_flight, low=0)
    cpu_share = smaller((cpu + FLOOR) / (cpu_usage + FLOOR), 1)
    memory_share = smaller((memory + FLOOR) / (memory_usage + FLOOR), 1)
    return [cpu, cpu_pressure * cpu_share, memory, memory_pressure * memory_share]


def _forecast() -> list[Expr]:
    ahead = [clamp(predict(x, TEN_MINUTES, AHEAD_S), low=0) for x in inputs]
    return [ahead[0], clamp(ahead[1], high=1), clamp(ahead[2], high=1), clamp(ahead[3], high=1)]


def _at_risk() -> list[Expr]:
    return [
        average_over(x, FIVE_MINUTES) + RISK_AVERSION * stddev_over(x, FIVE_MINUTES) for x in inputs
    ]


_STEADY_EXCESS = [
    record(f"{name}_steady_excess", quantile_over(0.66, e, FIVE_MINUTES))
    for name, e in zip(DIMENSIONS, excesses, strict=True)
]

FURTHER: tuple[Score, ...] = (
    define(
        "sustained",
        sustained(K3.value, "sustained"),
        formula="s = linear_amplified_ippd_k3 over 5 min, A = mean over nodes of its average: "
        "q25(s) if q25(s) > A, q75(s) if q75(s) <= A, else A",
        choose="Load comes in spikes of a minute or two and every one of them causes a migration.",
        weakness="Four minutes late when the load really changes.",
        answers="Spikes trigger moves; constant re-eviction.",
    ),
    define(
        "stable_ippd_k3",
        3 * record("steady_excess_norm", length(_STEADY_EXCESS)),
        formula="3 · sqrt(Σ q66(d_x over 5 min)²)",
        choose="You run OpenShift's noise filter and want to compare: it is its p66_5m score.",
        weakness="Spikes of two minutes still count, and so does every dip.",
        answers="Noise in one input at a time adds up in the distance.",
    ),
    define(
        "predictive",
        3 * excess_distance("forecast", _forecast()),
        formula="linear_amplified_ippd_k3 of the inputs predicted 2 min ahead from 10 min",
        choose="Load rises and falls over tens of minutes: act before the peak, not after it.",
        weakness="A step looks like a slope for 10 minutes, so it overshoots after every move.",
        answers="VMs are moved off a node whose load was falling anyway, onto one that rises.",
    ),
    define(
        "risk",
        3 * excess_distance("at_risk", _at_risk()),
        formula="linear_amplified_ippd_k3 of mean + 1 σ of each input over 5 min",
        choose="Peaks hurt and means do not: nodes of restless VMs should get more headroom.",
        weakness="A node that was just relieved looks restless for 5 minutes.",
        answers="Two nodes with the same mean are not equally safe.",
    ),
    define(
        "robust",
        _robust(),
        formula="r / (r + 9), r = Σ (max(0, x - median) / max(1.4826 MAD, 0.05))²",
        choose="A few nodes are special (huge VM, other hardware) and shift the mean of all.",
        weakness="Half of the cluster hot and half idle is normal to it.",
        answers="One outlier makes every other node look idle.",
    ),
    define(
        "in_flight_aware",
        3 * excess_distance("settled", _settled()),
        formula="linear_amplified_ippd_k3 of c' = max(0, c + cpu in flight), "
        "p' = p · min(1, (c' + 1e-5) / (c + 1e-5)), m' and q' likewise",
        choose="Migrations take longer than a descheduling interval.",
        weakness="Needs to be told what is migrating: 4 series of the exporter; else equal to k3.",
        answers="A node is evicted from again while its VMs are still on their way out.",
    ),
    define(
        "volume",
        1
        - (1 - clamp(cpu_usage, high=1))
        * (1 - clamp(cpu_pressure, high=1))
        * (1 - clamp(memory_usage, high=1))
        * (1 - clamp(memory_pressure, high=1)),
        formula="1 - (1 - c)(1 - p)(1 - m)(1 - q)",
        choose="Room matters: what is scarce should count sharply, and scarcities multiply.",
        weakness="A level: on a cluster full of memory all nodes score near 1.",
        answers="A sum hides that one input is nearly exhausted (the volume of Sandpiper).",
    ),
)
