"""`trimtab lab up --with NAME`: from the options to the stack."""
