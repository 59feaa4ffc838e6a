"""The checks, by what they look at; each yields findings."""
