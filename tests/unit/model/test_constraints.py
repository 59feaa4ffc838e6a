"""Constraints in scenario files: read, written back, and refused with the field that is wrong."""

import pytest

from trimtab.errors import ConfigError
from trimtab.model.scenarios.expand import expand
from trimtab.model.scenarios.io import dump, parse_file
from trimtab.model.scenarios.written import as_file

FILE = """\
name: ruled
nodes:
  - {name: node, count: 2, ground: {cpu: 500m, requestedCpu: 1, requestedMemory: 2Gi, pods: 9}}
vms:
  - name: db
    count: 2
    constraints:
      namespace: shop
      labels: {app: db}
      nodeSelector: {disk: fast}
      nodeAffinity: [{matchExpressions: [{key: zone, operator: In, values: [a, b]}]}]
      tolerations: [{key: dedicated, value: db}]
      antiAffinity: [{topologyKey: zone, labelSelector: {matchLabels: {app: db}}}]
      notMovable: it is not live-migratable
  - {name: web}
"""


def test_rules_and_ground_load_survive_writing_and_reading() -> None:
    scenario = expand(parse_file(FILE))
    again = expand(parse_file(dump(as_file(scenario))))
    assert again == scenario
    db, same, web = scenario.vms
    assert db.constraints is same.constraints
    assert web.constraints is None
    assert db.constraints is not None
    assert not db.can_migrate
    assert scenario.nodes[0].ground is not None


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ("{namespace: Shop}", "constraints.namespace: 'Shop' cannot be a namespace"),
        ("{labels: {'-a': b}}", "constraints.labels: '-a' is not a label key"),
        ("{nodeSelector: {a: '!'}}", "constraints.nodeSelector: '!' is not a label value"),
        ("{nodeAffinity: []}", "constraints.nodeAffinity: without a term no node fits"),
        ("{nodeAffinity: [{}]}", r"nodeAffinity\[0\]: an empty term matches no node"),
        (
            "{nodeAffinity: [{matchExpressions: [{key: a, operator: Is}]}]}",
            "matchExpressions: 'Is' is not one of In, NotIn",
        ),
        (
            "{nodeAffinity: [{matchFields: [{key: spec, operator: In, values: [a]}]}]}",
            "matchFields: write metadata.name",
        ),
        ("{tolerations: [{key: a, operator: Near}]}", r"tolerations\[0\].operator: 'Near'"),
        ("{tolerations: [{value: a}]}", "only the operator Exists goes without a key"),
        ("{tolerations: [{key: a, effect: Never}]}", "effect: 'Never' is not one of NoSchedule"),
        ("{antiAffinity: [{topologyKey: zone}]}", "labelSelector: without one no pod is kept"),
        (
            "{antiAffinity: [{topologyKey: '', labelSelector: {}}]}",
            "topologyKey: '' is not a label key",
        ),
        (
            "{antiAffinity: [{topologyKey: z, labelSelector: {matchExpressions: "
            "[{key: a, operator: Gt, values: ['1']}]}}]}",
            "'Gt' is not a valid label selector operator",
        ),
    ],
)
def test_a_wrong_rule_is_told_by_its_field(constraints: str, message: str) -> None:
    text = f"name: x\nnodes: [{{name: n}}]\nvms: [{{name: v, constraints: {constraints}}}]\n"
    with pytest.raises(ConfigError, match=message):
        expand(parse_file(text))


def test_an_unknown_field_of_a_rule_is_told_with_what_was_meant() -> None:
    text = "name: x\nnodes: [{name: n}]\nvms: [{name: v, constraints: {nodeSelektor: {}}}]\n"
    with pytest.raises(ConfigError, match=r"nodeSelektor.*nodeSelector"):
        parse_file(text)
