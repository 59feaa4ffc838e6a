"""Recording a cluster: where loads come from, gentle queries, and what is made of the answers."""
