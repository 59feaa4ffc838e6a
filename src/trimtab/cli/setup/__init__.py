"""Commands about this computer: programs, what is missing, the files that come along."""
