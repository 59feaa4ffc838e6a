"""Each service is declared once, here; everything that installs or starts it is made from that.

To add a service NAME:
1. In its own room: a Struct with its settings. Each field is an option of `trimtab run NAME`
   (name, type, default and the string below it; see `kube.runtime.options`), `port` its port.
2. Here: `services/NAME.py` with `SERVICE = ServiceSpec(...)`. Its docstring is the help. It
   names the settings, the function that serves, roles, kinds, admission policies and alerts,
   and a `Deployment` if clusters run it. (Services that only labs run: `stacks/services/`.)
3. `make generate`: manifests under k8s/ and docs/reference/services.md.
4. In a stack: `component(lab, SERVICE, settings)` starts it in a lab, `objects(SERVICE)` is what
   the API server must know, `SERVICE.ports` what the lab reserves.

To add an option: a field of the settings, and its test. Nothing else.
"""
