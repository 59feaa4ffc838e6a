"""VirtualMachines: the controller that keeps each on one active pod, migrations, and the webhook
that turns evictions into migrations. Definitions, rights and the guard are in `install.vm`.
"""
