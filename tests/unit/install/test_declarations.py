"""What holds for the declaration of every service."""

import importlib
import shlex

import pytest

from trimtab.cli.main import app
from trimtab.install.service import ServiceSpec
from trimtab.kube.runtime.options import declared, written
from trimtab.stacks.registry import all_services, find_service, service_names

SERVICES = all_services()
every = pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)


def test_all_services_are_found_and_named_like_their_modules() -> None:
    assert [service.name for service in SERVICES] == service_names()
    assert {"vm-controller", "webhook"} <= set(service_names())


@every
def test_help_begins_with_a_short_sentence(service: ServiceSpec) -> None:
    assert len(service.help.split("\n\n")[0]) < 100


@every
def test_every_option_has_a_help_text(service: ServiceSpec) -> None:
    assert [each.names[0] for each in declared(service.options) if not each.help] == []


def test_no_two_services_want_the_same_port() -> None:
    ports = [port for service in SERVICES for port in service.ports.values()]
    assert len(ports) == len(set(ports))


@every
def test_no_role_holds_a_wildcard(service: ServiceSpec) -> None:
    for role in service.roles():
        for right in role.rights:
            assert "*" not in (*right.resources, *right.verbs, right.group)


@every
def test_examples_are_command_lines_that_are_understood(service: ServiceSpec) -> None:
    for example in service.examples:
        words = shlex.split(example)
        if words[0] == "trimtab":
            command, _, _ = app.parse_args(words[1:], exit_on_error=False, print_error=False)
            assert callable(command), example


@pytest.mark.parametrize(
    "service", [s for s in SERVICES if s.deployment], ids=lambda service: service.name
)
def test_the_command_line_of_a_deployment_is_understood(service: ServiceSpec) -> None:
    assert service.deployment is not None
    options = written(service.deployment.settings, always=frozenset({"port"}))
    _, bound, _ = app.parse_args(["run", service.name, *options], exit_on_error=False)
    assert bound.kwargs["port"] == service.port


def test_a_service_that_does_not_exist_is_not_found() -> None:
    with pytest.raises(KeyError):
        find_service("nothing")
    with pytest.raises(AttributeError):
        _ = importlib.import_module("trimtab.cli.services.run").nothing
