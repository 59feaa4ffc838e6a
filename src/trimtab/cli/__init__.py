"""Commands: arguments in, a call, a view out. One file per group, imported only when it is used."""
