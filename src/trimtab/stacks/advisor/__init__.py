"""The stack `advisor`: a lab that looks like a small OpenShift, with the operator on it."""
