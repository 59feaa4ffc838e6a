"""What a run means, in one sentence: is it level, what did that cost, should one run this?"""

from math import isnan

from trimtab.model.duration import format_duration
from trimtab.sim.outcome import ReportCard

_NOT_THIS = "do not run this"
_MANY = 3.0
"""So many times the migrations of the best conceivable rebalancer are worth a word."""
_BETTER = 0.9
"""A run whose imbalance is above this part of doing nothing's has not helped."""


def verdict(card: ReportCard, nothing: ReportCard) -> str:
    """The sentence; `nothing` is the same time left alone."""
    moved = _moved(card)
    if isnan(card.first_converged_s):
        return _never_level(card, nothing, moved)
    if card.migrations == 0:
        return "Level without a migration: there is nothing to do here."
    when = f"Level after {format_duration(card.first_converged_s)}"
    if nothing.first_converged_s <= card.first_converged_s and not _helps(card, nothing):
        return f"{when}, but doing nothing is as level: {moved} for no gain: {_NOT_THIS}."
    if card.last_converged_s > card.first_converged_s:
        return f"{when}, but not for good: left again until {_last(card)}, {moved}{_again(card)}."
    if card.migrations > _MANY * max(1, card.minimum_migrations):
        return f"{when}, but with {moved} where {card.minimum_migrations} would do{_again(card)}."
    return f"{when} with {moved}{_again(card)}, and it stays so."


def _never_level(card: ReportCard, nothing: ReportCard, moved: str) -> str:
    if card.migrations == 0:
        return "Never level, and nothing was moved: these settings do not see the imbalance."
    if not _helps(card, nothing):
        return f"Never level, {moved}, and no better than doing nothing: {_NOT_THIS}."
    if card.migrations > _MANY * max(1, card.minimum_migrations):
        return f"Never level, {moved}{_again(card)}: {_NOT_THIS}."
    return f"Never level, {moved}; better than doing nothing, but not enough."


def _helps(card: ReportCard, nothing: ReportCard) -> bool:
    ours = card.load_std_mean + card.memory_std_mean
    return ours < _BETTER * (nothing.load_std_mean + nothing.memory_std_mean)


def _moved(card: ReportCard) -> str:
    failed = f" ({card.failed_migrations} failed)" if card.failed_migrations else ""
    return f"{card.migrations:,} migration{'' if card.migrations == 1 else 's'}{failed}"


def _again(card: ReportCard) -> str:
    count = card.vms_moved_again
    return f", {count} VM{'' if count == 1 else 's'} moved more than once" if count else ""


def _last(card: ReportCard) -> str:
    return format_duration(card.last_converged_s)
