"""Every query of the monitoring guide, asked of the loop's Prometheus."""

import re
import urllib.request
from pathlib import Path

import pytest

from builders.labs.loops import LoopLab
from builders.waiting import wait_until

pytestmark = pytest.mark.engines
GUIDE = Path(__file__).parents[4] / "docs/guide/monitoring.md"
QUERIES = re.findall(r"```promql\n(.*?)```", GUIDE.read_text(), re.DOTALL)
NODES = {f"kwok-node-{number}" for number in range(1, 6)}
CONDITIONS = [query for query in QUERIES if ">" in query]


def one_line(query: str) -> str:
    return " ".join(query.split())


@pytest.mark.parametrize("query", [q for q in QUERIES if q not in CONDITIONS], ids=one_line)
def test_a_query_of_the_guide_gives_one_sample_for_each_node_or_one_in_all(
    loop: LoopLab, query: str
) -> None:
    wanted = {""} if ":cluster:" in query else NODES
    wait_until(lambda: set(loop.query(query)) == wanted, f"{query} gives no samples")


@pytest.mark.parametrize("query", CONDITIONS, ids=one_line)
def test_a_condition_of_the_guide_selects_nodes(loop: LoopLab, query: str) -> None:
    assert set(loop.query(query)) <= NODES


def test_the_guide_finds_the_hot_node_that_the_loop_began_with(loop: LoopLab) -> None:
    over = next(query for query in CONDITIONS if "group_left" in query)
    found = f"count_over_time(({over})[1h:1s])"
    wait_until(lambda: "kwok-node-1" in loop.query(found), "the hot node was never over")


@pytest.mark.parametrize("page", ["query", "graph", "targets", "rules", "alerts"])
def test_a_page_of_prometheus_answers_with_itself_or_with_how_to_make_it(
    loop: LoopLab, page: str
) -> None:
    with urllib.request.urlopen(f"{loop.lab.urls['prometheus']}/{page}", timeout=60) as answer:
        text = answer.read().decode()
    assert "trimtab engines build prometheus-ui" in text or 'id="root"' in text
