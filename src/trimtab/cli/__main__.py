"""`python -m trimtab.cli`: the `trimtab` command for programs that know only their Python."""

from trimtab.cli.main import run

if __name__ == "__main__":
    run()
