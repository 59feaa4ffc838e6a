"""A descheduler policy file: read, validated, defaulted."""
