"""Answers of the API server become errors named for what the caller can do."""

import msgspec
import pytest

from trimtab import errors as general
from trimtab.kube import errors
from trimtab.kube.apply import ContestedField, claims_in


@pytest.mark.parametrize(
    ("code", "reason", "expected", "also"),
    [
        (404, "NotFound", errors.NotFound, general.TrimtabError),
        (409, "Conflict", errors.Conflict, general.Conflict),
        (409, "AlreadyExists", errors.AlreadyExists, general.Conflict),
        (410, "Expired", errors.Expired, general.TrimtabError),
        (422, "Invalid", errors.Invalid, general.ConfigError),
        (400, "BadRequest", errors.Invalid, general.ConfigError),
        (401, "Unauthorized", errors.Forbidden, general.TrimtabError),
        (403, "Forbidden", errors.Forbidden, general.TrimtabError),
        (429, "TooManyRequests", errors.TooManyRequests, general.Unavailable),
        (500, "InternalError", errors.Unavailable, general.Unavailable),
        (503, "ServiceUnavailable", errors.Unavailable, general.Unavailable),
        (418, "Teapot", errors.ApiError, general.TrimtabError),
    ],
)
def test_each_answer_has_its_error(
    code: int, reason: str, expected: type[errors.ApiError], also: type[Exception]
) -> None:
    body = msgspec.json.encode({"code": code, "reason": reason, "message": "because"})
    error = errors.error_from_body("GET /x", code, body)
    assert type(error) is expected
    assert isinstance(error, also)
    assert str(error) == "because (GET /x)"


def test_causes_are_kept() -> None:
    cause = {"reason": "FieldValueInvalid", "field": "spec.cpu", "message": "must be positive"}
    body = msgspec.json.encode({"code": 422, "details": {"causes": [cause]}})
    error = errors.error_from_body("POST /x", 422, body)
    assert error.causes == (errors.Cause("FieldValueInvalid", "spec.cpu", "must be positive"),)


def test_an_answer_that_is_no_status_is_quoted() -> None:
    error = errors.error_from_body("GET /x", 502, b"<html>bad gateway</html>")
    assert isinstance(error, errors.Unavailable)
    assert "bad gateway" in str(error)


def test_claims_name_the_field_and_its_manager() -> None:
    causes = (
        errors.Cause("FieldManagerConflict", ".spec.a", 'conflict with "kubectl-edit" using v1'),
        errors.Cause("FieldManagerConflict", ".spec.b", 'conflict with "my \\"own\\"" using v1'),
        errors.Cause("Other", ".spec.c", "irrelevant"),
    )
    assert claims_in(causes) == (
        ContestedField(".spec.a", "kubectl-edit"),
        ContestedField(".spec.b", 'my "own"'),
    )
