"""The options of a profile in words, read from the definition that the API server holds."""

from typing import Any

from trimtab.advisor.plan.profile import dig
from trimtab.install.advisor.crd import config_crd

MEMBERS = {"load-aware-rebalancing": "loadAware", "virt-higher-density": "virtHigherDensity"}


def described(profile: str) -> list[tuple[str, str, str]]:
    """Path, default and meaning of every option; none for a profile without options."""
    version = config_crd()["spec"]["versions"][0]
    spec = dig(version, "schema", "openAPIV3Schema", "properties", "spec", "properties")
    member = MEMBERS.get(profile, "")
    schema = dig(spec, "options", "properties", member)
    return _rows(schema, f"options.{member}") if schema else []


def _rows(schema: dict[str, Any], at: str) -> list[tuple[str, str, str]]:
    rows: list[tuple[str, str, str]] = []
    for name, inner in (schema.get("properties") or {}).items():
        if inner.get("properties") and name != "nodeLabelSelector":
            rows += _rows(inner, f"{at}.{name}")
        else:
            rows.append((f"{at}.{name}", _default(inner), _meaning(inner)))
    return rows


def _default(schema: dict[str, Any]) -> str:
    value = schema.get("default")
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _meaning(schema: dict[str, Any]) -> str:
    values = schema.get("enum")
    bounds = [str(schema[key]) for key in ("minimum", "maximum") if key in schema]
    which = " | ".join(values) if values else " to ".join(bounds)
    text = str(schema.get("description", "")).strip()
    return f"{text} ({which})" if which else text
