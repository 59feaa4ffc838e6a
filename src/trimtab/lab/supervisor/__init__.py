"""One process per lab that executes its plan: starts, watches, restarts and stops."""

from trimtab.lab.supervisor.run import supervise

__all__ = ["supervise"]
