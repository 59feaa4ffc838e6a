"""Findings about VMs and their migrations: what KubeVirt does with an eviction or instead of it."""

from trimtab.truth.lint.finding import LintRule

CLUSTER = "the policy and --kubeconfig"

LAUNCHER_KEEPS_HOSTNAME = LintRule(
    id="launcher-keeps-hostname",
    severity="warning",
    title="A launcher asks for one node by its host name, its VM does not",
    explanation="A migration to a chosen node (addedNodeSelector), or a lab's scenario that starts "
    "the VM there, leaves that node's host name in "
    "the launcher's nodeSelector until the launcher ends. The VM is free, but nodeFit looks at the "
    "pod: it fits nowhere else, so it is never evicted. Without nodeFit this is only a note.",
    fix="Migrate the VM once without a node (virtctl migrate VM, or trimtab vm migrate VM), or "
    "choose targets by a label that several nodes have.",
    needs=CLUSTER,
)
TWO_EVICTION_WEBHOOKS = LintRule(
    id="two-eviction-webhooks",
    severity="warning",
    title="More than one webhook answers evictions of pods",
    explanation="Each webhook is asked and the API server passes on one answer. If it is not "
    "KubeVirt's, the descheduler takes the eviction for failed, asks for one more VM, and counts "
    "the first one only later: it moves more than its limits say. Webhooks that are neither "
    "KubeVirt's nor trimtab's often let VMs pass, so with those it is only a note.",
    fix="Keep one VM world in a cluster: where KubeVirt is, delete trimtab-eviction and the "
    "VirtualMachines of trimtab.dev. Let other webhooks leave out virt-launcher pods.",
    needs=CLUSTER,
)
COMPLETED_LAUNCHERS = LintRule(
    id="completed-launchers",
    severity="note",
    title="Launchers of past migrations are still there, Completed",
    explanation="KubeVirt keeps the source pod of a migration until its VM stops. It uses nothing "
    "and the descheduler does not count it, but lists of pods and quotas by count/pods do.",
    fix="Nothing; they go with their VM. Count VMs by VirtualMachineInstances, not by pods.",
    needs=CLUSTER,
)
VM_NOT_MIGRATABLE = LintRule(
    id="vm-not-migratable",
    severity="warning",
    title="VMs cannot migrate, so their evictions are refused",
    explanation="KubeVirt refuses the eviction of a VM with the strategy LiveMigrate that cannot "
    "migrate. The descheduler asks again in every cycle, and a node whose load such VMs cause "
    "stays hot. If no VM can migrate this is an error.",
    fix="Remove the cause that is named, or leave such VMs out: "
    "descheduler.alpha.kubernetes.io/prefer-no-eviction, or a label selector in DefaultEvictor.",
    needs=CLUSTER,
)
VM_STOPS_WHEN_EVICTED = LintRule(
    id="vm-stops-when-evicted",
    severity="warning",
    title="An eviction stops VMs instead of migrating them",
    explanation="A VM with the strategy None, or with LiveMigrateIfPossible that cannot migrate, "
    "is shut down by an eviction and starts again elsewhere if its run strategy says so.",
    fix="Set evictionStrategy: LiveMigrate in the VM or in the KubeVirt object, or leave such VMs "
    "out of descheduling.",
    needs=CLUSTER,
)
VM_MOVED_BY_OTHERS = LintRule(
    id="vm-moved-by-others",
    severity="note",
    title="Somebody else must move VMs that are evicted",
    explanation="With the strategy External KubeVirt marks the VM and does no more. Until another "
    "program moves it, the descheduler counts its eviction as under way for up to 20 minutes.",
    fix="Check that the program which handles External runs; otherwise set LiveMigrate.",
    needs=CLUSTER,
)
MIGRATIONS_WAIT = LintRule(
    id="migrations-wait",
    severity="note",
    title="Migrations wait for a slot",
    explanation="KubeVirt runs parallelMigrationsPerCluster migrations at a time, and "
    "parallelOutboundMigrationsPerNode away from one node. The others wait in Pending, and with "
    "them the evictions that caused them: the descheduler counts those as under way.",
    fix="Wait; or raise the limits in the KubeVirt object, or lower the policy's limits to them.",
    needs=CLUSTER,
)
MIGRATION_POLICIES = LintRule(
    id="migration-policies",
    severity="note",
    title="MigrationPolicies change how VMs migrate",
    explanation="The policy with the most matching labels replaces settings of the KubeVirt "
    "object for its VMs: bandwidth, time-outs, auto-converge, post-copy. It cannot change how "
    "many migrations run at a time. A slow policy holds its slot for longer.",
    fix="Nothing; take its bandwidth into account when you plan moves, and know that a guest lost "
    "during post-copy cannot be brought back.",
    needs=CLUSTER,
)

ABOUT_VMS = (
    LAUNCHER_KEEPS_HOSTNAME,
    TWO_EVICTION_WEBHOOKS,
    COMPLETED_LAUNCHERS,
    VM_NOT_MIGRATABLE,
    VM_STOPS_WHEN_EVICTED,
    VM_MOVED_BY_OTHERS,
    MIGRATIONS_WAIT,
    MIGRATION_POLICIES,
)
