"""Advertising: every profile that wants to be found has an object, with action Ignore.

`kubectl get virtplatformconfig` is thereby the catalogue. Existing objects are never touched.
"""

from trimtab.advisor.api import GROUP
from trimtab.advisor.plan.profile import PlatformProfile
from trimtab.kube.resources import Free

DESCRIPTION = f"{GROUP}/description"
IMPACT_SUMMARY = f"{GROUP}/impact-summary"
AUTO_CREATED = f"{GROUP}/auto-created"
CATEGORY = f"{GROUP}/category"


def advertisement(profile: PlatformProfile) -> Free:
    return {
        "metadata": {
            "name": profile.name,
            "annotations": {
                DESCRIPTION: profile.description,
                IMPACT_SUMMARY: profile.impact_summary,
                AUTO_CREATED: "true",
            },
            "labels": {CATEGORY: profile.category},
        },
        "spec": {"profile": profile.name, "action": "Ignore"},
    }
