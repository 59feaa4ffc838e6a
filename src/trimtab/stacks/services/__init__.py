"""The services that only labs run: one module each, with a value `SERVICE`."""
