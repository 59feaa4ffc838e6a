"""The page of one run: every figure of the card, and no more nodes than a browser can bear."""

import re
from typing import Any

import msgspec
import numpy as np

from builders.values.outcomes import a_card, a_course, a_scenario, an_outcome
from trimtab.sim.outcome import ReportCard
from trimtab.study.inputs.identity import versions
from trimtab.study.report import run_report
from trimtab.study.report.run_report import NODES, RunPage, card_groups, render_run

NASTY = '</script><img src=x onerror="alert(1)">'


def a_page(nodes: int = 4, vms: int = 12, moved: int = 2, name: str = NASTY) -> RunPage:
    scenario = a_scenario(name, nodes=nodes, vms=vms)
    course = a_course(nodes)
    return RunPage(
        title=f"{name}: a run",
        id="0123456789abcdef",
        seed=7,
        scenario=scenario,
        settings={"Score": "max_metric"},
        policy="kind: DeschedulerPolicy",
        outcome=an_outcome(scenario, course=course, moved=moved),
        nothing=an_outcome(scenario, a_card(migrations=0), a_course(nodes, decay=1.0), moved=0),
        versions=versions(),
    )


def data_of(page: str) -> Any:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    return msgspec.json.decode(found[1])


def test_no_name_can_end_a_script_or_start_an_element() -> None:
    page = render_run(a_page())
    assert NASTY not in page
    assert page.count("</script>") == 4
    assert data_of(page)["scenarios"][0]["name"] == NASTY


def test_it_says_what_was_run_and_what_came_of_it() -> None:
    page = render_run(a_page(name="shop"))
    for text in ("0123456789abcdef", "shop: a run", "max_metric", "kind: DeschedulerPolicy"):
        assert text in page
    assert "90% → " in page
    assert page.count("<td>succeeded</td>") == 2


def test_imbalance_is_that_of_all_nodes_at_each_decision() -> None:
    page = a_page()
    nothing, run = data_of(render_run(page))["imbalance"]
    assert len(run) == 10
    cpu = page.outcome.course.cpu[3].astype(np.float64)
    assert abs(run[3] - 100 * cpu.std()) < 0.01
    assert nothing[0] == nothing[9] > run[9]


def test_of_a_large_cluster_the_hottest_and_the_coolest_nodes_are_drawn() -> None:
    page = a_page(nodes=NODES + 50, vms=2 * NODES)
    text = render_run(page)
    data = data_of(text)
    assert len(data["scenarios"][0]["nodes"]) == NODES
    assert "node-0" in data["scenarios"][0]["nodes"]
    assert len(data["scenarios"][0]["vms"]) < 2 * NODES
    assert "50 in between are left out" in text


def test_many_migrations_are_cut_and_counted() -> None:
    most = run_report.MOVES
    text = render_run(a_page(vms=most + 3, moved=most + 3))
    assert text.count("<td>succeeded</td>") == most
    assert "3 more are in the events file" in text


def test_a_run_without_a_move_says_so() -> None:
    assert "No VM moved." in render_run(a_page(moved=0))


def test_a_card_without_answers_has_no_number_for_them() -> None:
    never = a_card(first_converged_s=float("nan"), last_converged_s=float("nan"))
    lines = {line.what: line for group in card_groups(never, never) for line in group.lines}
    assert lines["level for the first time"].run == "never"
    assert lines["level for the first time"].least == "2 cycles"


def test_every_figure_that_tells_runs_apart_is_on_the_page() -> None:
    """One card per field, that field changed: the table must differ."""
    usual = a_card(overshoot=0.01, energy_kwh=1.0, esv=1e-6, down_vm_seconds=0.0)
    silent = []
    for field in ReportCard.__struct_fields__:
        changed = msgspec.structs.replace(usual, **{field: getattr(usual, field) + 1})
        if card_groups(changed, usual) == card_groups(usual, usual):
            silent.append(field)
    # Spread and variation say what imbalance says; SLAV is the product of two lines.
    assert silent == ["spread", "slav", "load_cv_mean"]
