"""The official Python client (package `kubernetes`) against a real installation of two workers:
lists, pages, watches."""

from __future__ import annotations

import socket
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.installation import Installation, eventually
from tests.support.waiting import PATIENCE

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the package's own imports
    from kubernetes import client, config, watch
    from kubernetes.client.exceptions import ApiException

pytestmark = pytest.mark.slow

OBJECTS = 5000
PAGE = 500


@pytest.fixture(scope="module")
def core(installation: Installation) -> Iterator[client.CoreV1Api]:
    with config.new_client_from_config(str(installation.data / "admin.kubeconfig")) as api:
        yield client.CoreV1Api(api)


def namespace(core: client.CoreV1Api, name: str) -> str:
    core.create_namespace({"metadata": {"name": name}})
    return name


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"made-by": "test"}}, "data": data}


def test_typed_calls(core: client.CoreV1Api) -> None:
    ns = namespace(core, "typed")
    made = core.create_namespaced_config_map(
        ns, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="a"), data={"k": "1"})
    )
    assert made.metadata.uid and made.metadata.creation_timestamp.tzinfo is not None
    assert core.patch_namespaced_config_map("a", ns, {"data": {"k": "2"}}).data == {"k": "2"}
    with pytest.raises(ApiException) as stale:
        core.replace_namespaced_config_map("a", ns, made)
    assert stale.value.status == 409
    apps = client.AppsV1Api(core.api_client)
    container = client.V1Container(name="c", image="nginx")
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels={"app": "w"}),
        spec=client.V1PodSpec(containers=[container]),
    )
    spec = client.V1DeploymentSpec(
        selector=client.V1LabelSelector(match_labels={"app": "w"}), template=template, replicas=2
    )
    apps.create_namespaced_deployment(
        ns, client.V1Deployment(metadata=client.V1ObjectMeta(name="w"), spec=spec)
    )
    assert apps.read_namespaced_deployment_scale("w", ns).spec.replicas == 2
    assert [
        d.metadata.name for d in apps.list_deployment_for_all_namespaces(label_selector="").items
    ] == ["w"]
    assert core.list_namespaced_config_map(ns, field_selector="metadata.name=a").items[0].data == {
        "k": "2"
    }
    core.delete_namespaced_config_map("a", ns)
    with pytest.raises(ApiException) as gone:
        core.read_namespaced_config_map("a", ns)
    assert gone.value.status == 404 and gone.value.reason == "Not Found"


class Writers:
    """Threads that create, change and delete objects around those that the test counts, until they
    are stopped."""

    def __init__(self, installation: Installation, ns: str, names: list[str]) -> None:
        self._stop = threading.Event()
        self.created = self.deleted = self.changed = 0
        self.errors: list[BaseException] = []
        self._config = str(installation.data / "admin.kubeconfig")
        self._threads = [
            threading.Thread(target=self._run, args=(work, ns, names))
            for work in (self._churn, self._change)
        ]

    def _run(self, work: Any, ns: str, names: list[str]) -> None:
        try:
            with config.new_client_from_config(self._config) as api:
                work(client.CoreV1Api(api), ns, names)
        except BaseException as error:  # shown by the test
            self.errors.append(error)

    def _churn(self, core: client.CoreV1Api, ns: str, _: list[str]) -> None:
        while not self._stop.is_set():
            name = f"object-{self.created * 37 % OBJECTS:05}-x"  # in between, in every page
            core.create_namespaced_config_map(ns, config_map(name))
            self.created += 1
            core.delete_namespaced_config_map(name, ns)
            self.deleted += 1

    def _change(self, core: client.CoreV1Api, ns: str, names: list[str]) -> None:
        while not self._stop.is_set():
            core.patch_namespaced_config_map(
                names[self.changed * 101 % len(names)], ns, {"data": {"changed": str(self.changed)}}
            )
            self.changed += 1

    def wait(self) -> None:
        """Until each thread has begun and ended a write after this call, however long others keep
        it from its turn."""
        deleted, changed = self.deleted + 1, self.changed + 1  # one may have begun before

        def both() -> bool:
            return bool(self.errors) or (self.deleted > deleted and self.changed > changed)

        eventually(both)

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)
        assert not self.errors, self.errors


@pytest.fixture(scope="module")
def many(installation: Installation, core: client.CoreV1Api) -> tuple[str, list[str]]:
    """A namespace with OBJECTS ConfigMaps, written by eight threads."""
    ns = namespace(core, "many")
    names = [f"object-{i:05}" for i in range(OBJECTS)]

    def create(part: list[str]) -> None:
        with config.new_client_from_config(str(installation.data / "admin.kubeconfig")) as api:
            mine = client.CoreV1Api(api)
            for name in part:
                mine.create_namespaced_config_map(ns, config_map(name, v="0"))

    threads = [threading.Thread(target=create, args=(names[i::8],)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ns, names


def pages(core: client.CoreV1Api, ns: str, **more: Any) -> Iterator[Any]:
    token = None
    while True:
        page = core.list_namespaced_config_map(ns, limit=PAGE, _continue=token, **more)
        yield page
        token = page.metadata._continue
        if not token:
            return


def test_pages_are_one_snapshot_while_others_write(
    installation: Installation, core: client.CoreV1Api, many: tuple[str, list[str]]
) -> None:
    ns, names = many
    with Writers(installation, ns, names) as writers:
        for _ in range(3):
            writers.wait()
            listing = pages(core, ns, label_selector="made-by=test")
            read = [next(listing), next(listing)]
            writers.wait()  # what they do now belongs into pages that are yet to come
            read += listing
            found = [item.metadata.name for page in read for item in page.items]
            assert found == sorted(set(found)), "in order, none doubled"
            assert [n for n in found if not n.endswith("-x")] == names, "none missing"
            assert len({page.metadata.resource_version for page in read}) == 1, (
                "one version for all pages"
            )
            assert all(len(page.items) == PAGE for page in read[:-1])
            version = int(read[0].metadata.resource_version)
            assert all(
                int(item.metadata.resource_version) <= version
                for page in read
                for item in page.items
            ), "nothing younger"
            whole = core.list_namespaced_config_map(
                ns,
                resource_version=str(version),
                resource_version_match="Exact",
                label_selector="made-by=test",
            )
            assert [(i.metadata.name, i.data) for i in whole.items] == [
                (i.metadata.name, i.data) for page in read for i in page.items
            ]


def test_remaining_item_count_and_a_token_of_another_list(
    core: client.CoreV1Api, many: tuple[str, list[str]]
) -> None:
    ns, names = many
    first = core.list_namespaced_config_map(ns, limit=PAGE)
    rest = first.metadata.remaining_item_count
    assert PAGE + rest in (len(names), len(names) + 1)  # with kube-root-ca.crt, where there is one
    with pytest.raises(ApiException) as refused:
        core.list_namespaced_secret(
            ns, limit=PAGE, _continue=first.metadata._continue[:-8] + "AAAAAAAA"
        )
    assert refused.value.status == 400


class Proxy:
    """A TCP way to the server that can be cut, as networks do."""

    def __init__(self, port: int) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self._target = port
        self._open: list[socket.socket] = []
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._server.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                self._open += [near, far]
                self.connections += 1
                for a, b in ((near, far), (far, near)):
                    threading.Thread(target=self._copy, args=(a, b), daemon=True).start()

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)

    def cut(self) -> int:
        """Resets all connections; how many there were."""
        cut, self._open = self._open, []
        for one in cut:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        return len(cut) // 2

    def close(self) -> None:
        self._server.close()
        self.cut()


def test_watch_goes_on_after_dropped_connections(
    installation: Installation, core: client.CoreV1Api, tmp_path: Path
) -> None:
    """Each drop: the client lists nothing anew, it watches from the last version that it saw, and
    misses and doubles nothing."""
    ns = namespace(core, "watched")
    through = tmp_path / "kubeconfig"
    kubeconfig = (installation.data / "admin.kubeconfig").read_text()
    seen: list[tuple[str, str, int]] = []
    errors: list[Exception] = []
    done = threading.Event()
    start = core.list_namespaced_config_map(ns).metadata.resource_version

    def follow() -> None:
        last = start
        with config.new_client_from_config(str(through)) as api:
            there = client.CoreV1Api(api)
            while not done.is_set():
                stream = watch.Watch()
                try:
                    for event in stream.stream(
                        there.list_namespaced_config_map,
                        ns,
                        resource_version=last,
                        timeout_seconds=20,
                    ):
                        metadata = event["object"].metadata
                        last = metadata.resource_version
                        seen.append((event["type"], metadata.name, int(last)))
                        if metadata.name == "the-end":
                            done.set()
                            stream.stop()
                except (
                    Exception
                ) as error:  # the client's own, of which it has many: the assertions below judge
                    errors.append(error)

    with closing(Proxy(installation.port)) as proxy:
        through.write_text(kubeconfig.replace(f":{installation.port}", f":{proxy.port}"))
        follower = threading.Thread(target=follow, daemon=True)
        follower.start()
        expected: list[tuple[str, str, int]] = []
        for i in range(300):
            if i % 60 == 30:
                target = len(expected)
                eventually(lambda target=target: len(seen) >= target)
                eventually(proxy.cut)
            made = core.create_namespaced_config_map(ns, config_map(f"w-{i}"))
            expected.append(("ADDED", f"w-{i}", int(made.metadata.resource_version)))
            if i % 3 == 0:
                changed = core.patch_namespaced_config_map(f"w-{i}", ns, {"data": {"a": "b"}})
                expected.append(("MODIFIED", f"w-{i}", int(changed.metadata.resource_version)))
            if i % 5 == 0:
                core.delete_namespaced_config_map(f"w-{i}", ns)
                expected.append(("DELETED", f"w-{i}", 0))
        core.create_namespaced_config_map(ns, config_map("the-end"))
        assert done.wait(PATIENCE), (len(seen), len(expected), seen[-2:], errors[-1:])
        follower.join(PATIENCE)
        assert proxy.connections > 5, "each cut made it come again"
    ours = [e for e in seen if e[1].startswith("w-")]
    assert not [e for e in errors if isinstance(e, ApiException)]
    assert [(kind, name) for kind, name, _ in ours] == [(kind, name) for kind, name, _ in expected]
    assert [version for _, _, version in ours] == sorted({version for _, _, version in ours})
    assert all(
        v == w for (kind, _, v), (_, _, w) in zip(ours, expected, strict=True) if kind != "DELETED"
    )


def test_reading_a_version_that_is_gone_says_410(
    installation: Installation, core: client.CoreV1Api
) -> None:
    ns = namespace(core, "compacted")
    old = core.create_namespaced_config_map(ns, config_map("a")).metadata.resource_version
    for i in range(5):
        newest = core.patch_namespaced_config_map(
            "a", ns, {"data": {"i": str(i)}}
        ).metadata.resource_version
    done = installation.manage("compact", "--tenant", "default", "--to", newest)
    assert done.returncode == 0, done.stderr
    with pytest.raises(ApiException) as expired:
        core.list_namespaced_config_map(ns, resource_version=old, resource_version_match="Exact")
    assert expired.value.status == 410 and "Expired" in expired.value.body
    assert core.read_namespaced_config_map("a", ns).data == {"i": "4"}


def test_watch_ends_at_its_time_and_starts_with_what_there_is(core: client.CoreV1Api) -> None:
    ns = namespace(core, "initial")
    core.create_namespaced_config_map(ns, config_map("a"))
    core.create_namespaced_config_map(ns, config_map("b"))
    began = time.monotonic()
    events = list(
        watch.Watch().stream(
            core.list_namespaced_config_map, ns, timeout_seconds=2, label_selector="made-by=test"
        )
    )
    assert time.monotonic() - began > 1.5
    assert [(e["type"], e["object"].metadata.name) for e in events] == [
        ("ADDED", "a"),
        ("ADDED", "b"),
    ]
