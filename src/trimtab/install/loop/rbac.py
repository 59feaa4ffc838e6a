"""The descheduler's rights: the least that it can work with."""

from trimtab.install.rights import LOOK, Manifest, everywhere, granted, right, within

DESCHEDULER = ("kube-descheduler", "descheduler")
"""Namespace and name of its account."""


def descheduler_rbac() -> list[Manifest]:
    """Look at what its rules read, ask for evictions, tell of them; its own token's secret."""
    namespace, account = DESCHEDULER
    roles = (
        everywhere(
            right("", ["nodes", "namespaces", "pods", "persistentvolumeclaims"], LOOK),
            right("scheduling.k8s.io", ["priorityclasses"], LOOK),
            right("policy", ["poddisruptionbudgets"], LOOK),
            right("", ["pods/eviction"], ["create"]),
            right("events.k8s.io", ["events"], ["create", "update", "patch"]),
        ),
        # it watches all secrets of this namespace: there is only the token
        within(namespace, right("", ["secrets"], LOOK)),
    )
    return granted(account, roles, account_in=namespace)
