"""A scenario in a cluster: its objects, and its events in the lab's time."""
