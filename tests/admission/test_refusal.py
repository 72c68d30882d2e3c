"""What a request is called that admission refuses: an object that has no name yet is called by what
its name will begin with (k8s.io/apiserver ``admission/errors.go``)."""

from __future__ import annotations

import pytest

from admission.plugins.namespacelifecycle import NamespaceLifecycle
from admission.plugins.priority import Priority
from admission.plugins.serviceaccount import ServiceAccount
from admission.refusal import object_name
from admission.rules import NAMESPACES
from apiserver.errors import NotFound
from apiserver.meta.objects import Object
from tests.support.plugins import World, asked, refusal, run


def pod(metadata: Object, **spec: object) -> Object:
    return {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def namespace(phase: str) -> World:
    return World().put(NAMESPACES, {"metadata": {"name": "ns"}, "status": {"phase": phase}})


@pytest.mark.parametrize(
    ("metadata", "name"),
    [({"name": "p"}, "p"), ({"generateName": "web-"}, "web-"), ({}, "Unknown")],
)
def test_an_object_is_called_by_its_name_or_what_it_will_begin_with(
    metadata: Object, name: str
) -> None:
    assert object_name(asked(pod(metadata))) == name


@pytest.mark.parametrize(
    ("plugin", "spec", "why"),
    [
        (ServiceAccount(), {"serviceAccountName": "x"}, "error looking up service account ns/x: "),
        (Priority(), {"priorityClassName": "x"}, "no PriorityClass with name x was found"),
        (NamespaceLifecycle(), {}, "unable to create new content in namespace ns because it is "),
    ],
)
async def test_plugins_refuse_an_object_without_a_name(
    plugin: object, spec: Object, why: str
) -> None:
    made = pod({"generateName": "web-"}, **spec)
    error = await refusal(plugin, asked(made), namespace("Terminating"))
    assert error.message.startswith(f'pods "web-" is forbidden: {why}')
    assert (error.details or {})["name"] == "web-"


async def test_nothing_is_updated_where_its_namespace_is_gone() -> None:
    stored = pod({"name": "p"})
    error = await refusal(NamespaceLifecycle(), asked(stored, stored))
    assert isinstance(error, NotFound)
    assert error.message == 'namespaces "ns" not found'


async def test_what_is_in_a_terminating_namespace_is_updated_and_deleted() -> None:
    stored = pod({"name": "p"})
    for world in (namespace("Active"), namespace("Terminating")):
        assert await run(NamespaceLifecycle(), asked(stored, stored), world) == stored
    assert await run(NamespaceLifecycle(), asked(None, stored)) is None
