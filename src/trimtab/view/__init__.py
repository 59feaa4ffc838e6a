"""What a person sees: tables, progress, diffs, JSON. Used by cli and study."""
