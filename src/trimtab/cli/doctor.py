"""`trimtab doctor`: what the commands need from this computer, and what to do where it is missing."""


def doctor() -> int:
    """placeholder"""
    return 0
