"""What a person sees: tables, progress, diffs, JSON. Used by cli and web; knows no arguments and no I/O but the terminal."""
