"""Commands: arguments in, a call, a view out.

Each directory is a family of commands; `groups.py` says in which module each command is. A
command's module is imported only when the command is used.
"""
