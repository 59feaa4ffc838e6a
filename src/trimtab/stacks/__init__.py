"""What turns a bare lab into the loop, KubeVirt, QoS, the balancer or the advisor: components,
objects, and tests of the links between them.
"""
