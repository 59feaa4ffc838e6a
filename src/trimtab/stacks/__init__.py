"""What turns a bare lab into the closed loop: its components, its VMs, and tests of its links."""
