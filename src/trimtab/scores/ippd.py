"""The ideal-point distances: how far a node lies above the mean in all inputs together.

The one amplified threefold is what OpenShift's descheduler asks for by default. It has its own
file because further scores start from it.
"""

from trimtab.scores.inputs import excesses, length
from trimtab.scores.language import record
from trimtab.scores.score import Score, define

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
