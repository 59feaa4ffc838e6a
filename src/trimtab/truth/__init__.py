"""Why the descheduler did what it did, and what is wrong with a policy. Pure."""
