"""The stack `qos`: the QosAware scheduler, the ledger and its page."""
