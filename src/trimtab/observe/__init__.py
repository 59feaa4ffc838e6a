"""A cluster as it is now, read once and changed never: a `Snapshot` for the policy's rules."""
