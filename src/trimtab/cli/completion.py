"""`trimtab --install-completion`: loaded when it is asked for, not by every command."""

from cyclopts.completion.install import create_install_completion_command

from trimtab.cli.main import app

install = create_install_completion_command(app.install_completion, add_to_startup=True)
