"""What a profile needs to exist, and how the lack of it is told."""

from collections.abc import Mapping, Sequence

from trimtab.advisor.plan.profile import Prerequisite
from trimtab.kube.resources import Free

_HEAD = "Missing in this cluster:"


def missing(
    needs: Sequence[Prerequisite], crds: Mapping[str, Free | None]
) -> tuple[Prerequisite, ...]:
    return tuple(need for need in needs if not _serves(crds.get(need.resource.crd), need))


def _serves(crd: Free | None, need: Prerequisite) -> bool:
    """Whether the definition is there, established, and serves the version."""
    if crd is None:
        return False
    versions = (crd.get("spec") or {}).get("versions") or ()
    conditions = (crd.get("status") or {}).get("conditions") or ()
    told = {c.get("type"): c.get("status") for c in conditions}
    names = [v.get("name") for v in versions if v.get("served")]
    served = bool(names) if need.any_version else need.resource.version in names
    return told.get("Established") == "True" and served


def missing_text(needs: Sequence[Prerequisite]) -> str:
    """A header, and a line for each definition; nothing if nothing is missing."""
    if not needs:
        return ""
    return "\n".join([_HEAD, *(_bullet(need) for need in needs)])


def _bullet(need: Prerequisite) -> str:
    resource = need.resource
    where = f"{resource.group}.{resource.version}"
    return f"  - {resource.kind} ({where})" + (f": {need.hint}" if need.hint else "")
