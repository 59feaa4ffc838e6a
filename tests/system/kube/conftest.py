"""One API server for all tests here."""

from builders.labs.apiserver import apiserver, client

__all__ = ["apiserver", "client"]
