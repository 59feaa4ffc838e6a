"""The endpoints answer as their description says, whatever is thrown at them."""

from typing import Any

import pytest
import schemathesis
import schemathesis.checks as checks
import yaml
from hypothesis import HealthCheck, settings
from msgspec import Struct
from schemathesis.config import SchemathesisConfig

from builders.labs.exporter_http import ExporterProcess
from trimtab.exporter.http.openapi import EXAMPLE, FILE_EXAMPLE, OURS, description
from trimtab.kube.runtime.options import field_texts

CONFIG = {
    "seed": 1,
    # Every branch of a scenario's schema makes 900 cases, which take 25 s.
    "operations": [{"include-name": "POST /scenario", "phases": {"coverage": {"enabled": False}}}],
}
schema = schemathesis.openapi.from_dict(description(), config=SchemathesisConfig.from_dict(CONFIG))

# Not among them: that what the schema allows is accepted. Names, quantities and references
# between fields have rules that a schema cannot say; those answers are 422 with the field.
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


@schema.parametrize()
@settings(max_examples=40, derandomize=True, suppress_health_check=list(HealthCheck))
def test_answers_conform(case: Any, exporter: ExporterProcess) -> None:
    # A scenario may be more than its schema says: any name is made fit for Kubernetes.
    strict = [] if case.path == "/scenario" else [checks.negative_data_rejection]
    case.call_and_validate(base_url=exporter.url, checks=[*CHECKS, *strict])


@pytest.mark.parametrize(
    ("body", "vms"),
    [
        pytest.param(EXAMPLE, 2, id="JSON"),
        pytest.param(yaml.safe_dump(FILE_EXAMPLE), 4, id="YAML"),
    ],
)
def test_the_examples_are_accepted(body: Any, vms: int, exporter: ExporterProcess) -> None:
    answer = exporter.post("/scenario", body)
    assert (answer.status_code, answer.json()["status"]) == (200, "success")
    assert len(exporter.places()) == vms


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.__name__)
def test_every_field_is_described(kind: type[Struct]) -> None:
    assert set(field_texts(kind)) == set(kind.__struct_fields__)
