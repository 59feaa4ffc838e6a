"""What `trimtab balance plan` prints of a plan."""

import pytest

from trimtab.balance.document import PlanDocument
from trimtab.view.services.balance import SHOWN, show_plan


def test_of_many_broken_rules_the_first_ones_are_named_and_the_others_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken = tuple(f"vm-{number} is where it may not be" for number in range(SHOWN + 3))
    show_plan(PlanDocument(moves=(), nodes=(), broken=broken))
    short = capsys.readouterr().out
    assert short.count("broken and not repaired") == SHOWN
    assert "… and 3 more broken rules (--all shows them)" in short
    show_plan(PlanDocument(moves=(), nodes=(), broken=broken), everything=True)
    assert capsys.readouterr().out.count("broken and not repaired") == SHOWN + 3
