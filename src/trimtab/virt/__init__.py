"""KubeVirt's rules, each in one place. Pure: plain values in, plain values out.

The simulator, the vm-controller, snapshots of live clusters and the stacks are bodies of one
loop; whatever KubeVirt decides in it is decided here, so the bodies cannot drift apart.

eviction            what an eviction does to a VM, from its strategy and whether it can migrate
slots               how many migrations run at once, and who is next
migration_policies  which MigrationPolicy sets the limits of a VM's migrations
migration_backoff   when an attempt to migrate has failed, and when the next one may begin
precopy             how long copying a VM's memory takes while others use the same network
copies              how far each copy under way is
launcher            what every virt-launcher pod asks of a node
lost_nodes          when the VMs of a node that does not answer start elsewhere
soft_taints         the taints of OpenShift's soft tainter

Where the real KubeVirt does otherwise on purpose or by age, the module says so.
This room imports nothing of ours, so that every other room can use it.
"""
