"""Label selectors: the written form, the object form, and node affinity's own operators."""

import pytest

from trimtab.errors import ConfigError
from trimtab.model.nodes_and_vms import Taint
from trimtab.model.selectors import matches_node, selector_of
from trimtab.model.snapshot import Expression, Match, NodeTerm, Toleration
from trimtab.policy.file.selector_text import parse_selector

LABELS = {"zone": "a", "cores": "16", "kubevirt.io/schedulable": "true", "empty": ""}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        pytest.param("", True, id="empty selects everything"),
        pytest.param("  ", True, id="blank"),
        pytest.param("zone=a", True, id="equal"),
        pytest.param("zone==a", True, id="double equal"),
        pytest.param(" zone = a , cores ", True, id="spaces, and a bare key exists"),
        pytest.param("zone!=a", False, id="not equal"),
        pytest.param("rack!=a", True, id="not equal to what is missing"),
        pytest.param("kubevirt.io/schedulable=true", True, id="prefixed key"),
        pytest.param("zone in (a,b)", True, id="in"),
        pytest.param("zone notin (a,b)", False, id="notin"),
        pytest.param("rack notin (a)", True, id="notin of what is missing"),
        pytest.param("rack in (a)", False, id="in of what is missing"),
        pytest.param("!rack", True, id="absent"),
        pytest.param("!zone", False, id="not absent"),
        pytest.param("cores>8,cores<17", True, id="greater and less"),
        pytest.param("cores>16", False, id="greater is strict"),
        pytest.param("zone>1", False, id="a label that is no number"),
        pytest.param("empty=", True, id="an empty value"),
        pytest.param("zone in (,b)", False, id="an empty value in a list"),
        pytest.param("empty in ()", True, id="an empty list holds the empty value"),
        pytest.param("in=a", False, id="in as a key"),
        pytest.param("zone in (in,notin,a)", True, id="in as a value"),
        pytest.param("zone=a,zone=b", False, id="all must hold"),
    ],
)
def test_written_selectors(text: str, matches: bool) -> None:
    assert parse_selector(text, "nodeSelector").matches(LABELS) == matches


@pytest.mark.parametrize(
    "text",
    [
        *("a,", ",a", "a=b,,c", "a in", "a in (b", "a in b", "=a", "!a=b", "a b", "a=b c"),
        *("a>x", "-a=b", "a=-b", "A/B/c", "a in (b c)", "a(b)", "x" * 64, "a=" + "x" * 64),
    ],
)
def test_what_kubernetes_cannot_read_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="nodeSelector: "):
        parse_selector(text, "nodeSelector")


def test_the_object_form_combines_both_lists() -> None:
    match = Match({"zone": "a"}, (Expression("cores", "Exists"), Expression("x", "DoesNotExist")))
    selector = selector_of(match, "labelSelector")
    assert selector.matches(LABELS)
    assert not selector.matches({"zone": "a"})
    assert selector.text == "cores,!x,zone=a"


def test_an_empty_object_selects_everything() -> None:
    assert selector_of(Match(), "labelSelector").matches({})


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(Expression("a", "Gt", ("1",)), id="comparisons are for nodes only"),
        pytest.param(Expression("a", "In"), id="In without values"),
        pytest.param(Expression("a", "Exists", ("b",)), id="Exists with values"),
        pytest.param(Expression("", "Exists"), id="no key"),
        pytest.param(Expression("a", "In", ("white space",)), id="a value that is none"),
    ],
)
def test_invalid_expressions_are_refused(expression: Expression) -> None:
    with pytest.raises(ConfigError, match="labelSelector: "):
        selector_of(Match({}, (expression,)), "labelSelector")


@pytest.mark.parametrize(
    ("expressions", "matches"),
    [
        pytest.param([Expression("cores", "Gt", ("15",))], True, id="greater"),
        pytest.param([Expression("cores", "Lt", ("16",))], False, id="less is strict"),
        pytest.param([Expression("cores", "Gt", ("1", "2"))], False, id="two bounds are an error"),
        pytest.param([Expression("cores", "Gt", ("many",))], False, id="no number is an error"),
        pytest.param(
            [Expression("zone", "In", ("a",)), Expression("zone", "Like", ("a",))],
            False,
            id="an unknown operator spoils its term",
        ),
    ],
)
def test_node_affinity(expressions: list[Expression], matches: bool) -> None:
    term = NodeTerm(match_expressions=tuple(expressions))
    assert matches_node((term,), {}, "n1", LABELS) == matches


TAINT = Taint(key="dedicated", value="5", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        pytest.param(Toleration("dedicated", "Equal", "5", "NoSchedule"), True, id="exactly"),
        pytest.param(Toleration("dedicated", "", "5"), True, id="Equal is the default"),
        pytest.param(Toleration("dedicated", "Equal", "6"), False, id="another value"),
        pytest.param(Toleration("dedicated", "Exists"), True, id="exists"),
        pytest.param(Toleration("", "Exists"), True, id="everything"),
        pytest.param(Toleration("other", "Exists"), False, id="another key"),
        pytest.param(Toleration("dedicated", "Exists", "", "NoExecute"), False, id="effect"),
        pytest.param(Toleration("dedicated", "Lt", "6"), True, id="the taint is less"),
        pytest.param(Toleration("dedicated", "Lt", "5"), False, id="less is strict"),
        pytest.param(Toleration("dedicated", "Gt", "4"), True, id="the taint is greater"),
        pytest.param(Toleration("dedicated", "Gt", "04"), False, id="a leading zero is no number"),
        pytest.param(Toleration("dedicated", "Gt", "-99999999999999999999"), False, id="too big"),
        pytest.param(Toleration("dedicated", "Near", "5"), False, id="unknown operator"),
    ],
)
def test_tolerations(toleration: Toleration, tolerates: bool) -> None:
    assert toleration.tolerates(TAINT) == tolerates
