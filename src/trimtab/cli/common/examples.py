"""The Examples section under a command's help; docstrings have no place for it that is shown."""


def examples(*commands: str) -> str:
    """For `help_epilogue`: one command a line."""
    return "\n".join(("Examples:", *(f"  {command}" for command in commands)))
