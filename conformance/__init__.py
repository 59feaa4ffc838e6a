"""Programs that run trimtab beside the real thing and compare: one package for each real thing.

`descheduler` is the one behind `make conformance`; docs/reference/conformance.md explains it.
`kubevirt` compares trimtab's own VMs with KubeVirt's; docs/reference/kubevirt-conformance.md.
"""
