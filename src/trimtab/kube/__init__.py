"""Our Kubernetes runtime: typed client, reflectors, controllers, apply, leases, events.

How a controller is written with it: docs/reference/kube.md. Only this room talks to a
Kubernetes client library.
"""
