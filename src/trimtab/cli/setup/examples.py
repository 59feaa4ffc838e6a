"""`trimtab examples`: what comes with the package, and a copy of it."""

import shutil
from functools import partial
from pathlib import Path

from cyclopts import App

from trimtab.cli.common.output import Json, emit
from trimtab.cli.common.output import examples as shown
from trimtab.cli.common.output_files import check_directory, writing
from trimtab.model.examples import all_examples, folder
from trimtab.view.terminal import err, show_table

app = App(
    name="examples",
    help="The scenarios, policies, snapshots and studies that come with trimtab.",
    help_epilogue=shown(
        "trimtab examples", "trimtab examples --copy my-examples", "trimtab sim one-hot-node"
    ),
)
_USE = {
    "scenarios": "trimtab sim {}",
    "snapshots": "trimtab explain {}",
    "policies": "trimtab lint {}",
    "studies": "trimtab study {}",
    "qos": "trimtab qos experiment {}",
}


@app.default
def examples(
    *,
    copy: Path | None = None,
    json: Json = False,
) -> None:
    """List the examples with a command for each, or copy them all.

    Wherever a command takes a file, the bare name of an example does as well.

    Parameters
    ----------
    copy
        A directory to copy them to; files that are there already stay as they are.
    """
    if copy is not None:
        check_directory(copy, "--copy")
        new = [file for file in all_examples() if not (copy / file).exists()]
        with writing(copy, "--copy"):
            for file in new:
                (copy / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder() / file, copy / file)
        err.print(f"{len(new)} files copied to {copy}", markup=False)
        return
    rows = [
        (file.stem, file.parts[0], _USE.get(file.parts[0], "").format(file.stem))
        for file in all_examples()
        if len(file.parts) == 2 and file.suffix in (".yaml", ".json")
    ]
    document = [{"name": n, "kind": k, "command": c} for n, k, c in rows]
    emit(rows, json, partial(show_table, ("example", "kind", "try")), document)
