"""The services that can be installed in a cluster: one module each, with a value `SERVICE`."""
