"""Starting a lab or resuming it: what is asked for, the supervisor, and waiting for it."""
