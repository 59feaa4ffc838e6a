"""Text files that options name."""

from pathlib import Path

from trimtab.errors import ConfigError


def read_option_file(option: str, file: Path) -> str:
    """The text of the file that `option` names, or an error that names both."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{option} {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{option} {file}: it is not UTF-8 text") from error
