"""How the API server is told to ask our webhook about evictions of virt-launcher pods."""

from typing import Any

from trimtab.install.policies import API, matching
from trimtab.vm.webhook import PATH

WEBHOOK = "trimtab-eviction"


def eviction_webhook(client_config: dict[str, Any]) -> dict[str, Any]:
    """The configuration for a webhook at `client_config` (url or service, and caBundle)."""
    if "url" in client_config:
        client_config = client_config | {"url": client_config["url"].rstrip("/") + PATH}
    return {
        "apiVersion": API,
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": WEBHOOK},
        "webhooks": [
            {
                "name": "virt-launcher-eviction.trimtab.dev",
                "clientConfig": client_config,
                "rules": [matching("", ["pods/eviction"], ["CREATE"]) | {"scope": "Namespaced"}],
                "matchConditions": [
                    {
                        "name": "virt-launcher",
                        "expression": 'request.name.startsWith("virt-launcher-")',
                    }
                ],
                "admissionReviewVersions": ["v1"],
                "sideEffects": "NoneOnDryRun",
                "failurePolicy": "Fail",
                "matchPolicy": "Exact",
                "timeoutSeconds": 5,
            }
        ],
    }
