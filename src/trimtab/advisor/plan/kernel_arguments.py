"""Kernel arguments as a boot loader reads them: of one key, the last occurrence counts."""

from collections.abc import Sequence

PSI = "psi=1"


def parse(argument: str) -> tuple[str, str | None]:
    """Key and value; a flag has none. Only the first `=` separates."""
    key, separator, value = argument.partition("=")
    return key, value if separator else None


def is_effective(arguments: Sequence[str], wanted: str) -> bool:
    """True if the last occurrence of the key has the wanted value."""
    key, _ = parse(wanted)
    said = [argument for argument in arguments if parse(argument)[0] == key]
    return bool(said) and said[-1] == wanted


def added(arguments: Sequence[str], wanted: str) -> list[str]:
    """With `wanted` at the end, unless it is there already."""
    return list(arguments) if wanted in arguments else [*arguments, wanted]


def removed(arguments: Sequence[str], unwanted: str) -> list[str]:
    """Without `unwanted`; one that ends with `=` stands for every value of that key."""
    if unwanted.endswith("="):
        return [argument for argument in arguments if not argument.startswith(unwanted)]
    return [argument for argument in arguments if argument != unwanted]
