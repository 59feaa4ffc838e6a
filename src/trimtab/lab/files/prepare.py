"""Puts a lab on disk: directory, certificates, kubeconfigs, configuration, plan and `lab.json`.

Run at every `up`, so that a resumed lab gets renewed certificates and moved ports. `lab.json`
is written last: a lab that has it is complete.
"""

import base64
from collections.abc import Callable
from pathlib import Path

import msgspec

from trimtab.files.writing import make_private_dir, write_private
from trimtab.lab.components.identity import by_certificate, by_token, kubeconfig_file, token_file
from trimtab.lab.components.scheduler import OWN_CONFIG_FILE
from trimtab.lab.components.stack import CA_BUNDLE, CA_TEXT, Lab, Stack
from trimtab.lab.files.layout import LabDir
from trimtab.lab.files.pki import ensure_pki, utc_now
from trimtab.lab.plan import OBJECTS_FILE, Blueprint, draw
from trimtab.lab.spec import LabSpec


def prepare(
    lab_dir: LabDir,
    spec: LabSpec,
    stacks: tuple[Stack, ...],
    locate: Callable[[str], Path],
    own_scheduler_config: str | None,
) -> Blueprint:
    """Write everything that the supervisor and the components will read."""
    lab = Lab(lab_dir.path, spec, locate)
    if spec.own_scheduler_config and own_scheduler_config is None:
        own_scheduler_config = (lab_dir.path / OWN_CONFIG_FILE).read_text()
    blueprint = draw(lab, stacks, own_scheduler_config if spec.own_scheduler_config else None)
    for directory in (lab_dir.path, lab_dir.pki, lab_dir.logs, lab_dir.path / "data"):
        make_private_dir(directory)
    ensure_pki(lab_dir.pki, blueprint.clients, blueprint.servers, utc_now())
    _write_kubeconfigs(lab, lab_dir, blueprint)
    files = dict(blueprint.files)
    if own_scheduler_config is not None:
        files[OWN_CONFIG_FILE] = own_scheduler_config
    files[OBJECTS_FILE] = _with_authority(files[OBJECTS_FILE], lab_dir)
    for name, text in files.items():
        make_private_dir((lab_dir.path / name).parent)
        write_private(lab_dir.path / name, text)
    for name, target in blueprint.links.items():
        _link(lab_dir.path / name, target)
    write_private(lab_dir.plan_file, _pretty(blueprint.plan))
    write_private(lab_dir.spec_file, _pretty(spec))
    return blueprint


def _with_authority(objects: str, lab_dir: LabDir) -> str:
    """The objects with the certificate of the lab's CA where they name it; both are JSON."""
    certificate = (lab_dir.pki / "ca.crt").read_bytes()
    text = msgspec.json.encode(certificate.decode()).decode()
    bundle = base64.b64encode(certificate).decode()
    return objects.replace(msgspec.json.encode(CA_TEXT).decode(), text).replace(CA_BUNDLE, bundle)


def _link(link: Path, target: Path) -> None:
    if link.is_symlink() and link.readlink() == target:
        return
    link.unlink(missing_ok=True)
    link.symlink_to(target)


def _write_kubeconfigs(lab: Lab, lab_dir: LabDir, blueprint: Blueprint) -> None:
    ca = (lab_dir.pki / "ca.crt").read_bytes()
    for client in blueprint.clients:
        cert = (lab_dir.pki / f"{client.name}.crt").read_bytes()
        key = (lab_dir.pki / f"{client.name}.key").read_bytes()
        text = by_certificate(lab.spec.name, lab.server, ca, cert, key)
        write_private(lab_dir.path / kubeconfig_file(client.name), text)
        if client.name == "admin":
            write_private(lab_dir.kubeconfig, text)
    for service in blueprint.services:
        token = str(lab_dir.path / token_file(service.name))
        text = by_token(lab.spec.name, lab.server, ca, token)
        write_private(lab_dir.path / kubeconfig_file(service.name), text)


def _pretty(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value)) + b"\n"
