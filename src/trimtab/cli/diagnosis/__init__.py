"""Commands that say what a descheduler did and what is wrong with its policy."""
