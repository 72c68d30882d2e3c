import pytest

from apiserver.codec import negotiate as n
from apiserver.errors import NotAcceptable, UnsupportedMediaType
from apiserver.meta.gvk import GroupVersionKind

TABLE = GroupVersionKind("meta.k8s.io", "v1", "Table")
RESOURCE = n.allow_resource()


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("", n.JSON),
        ("*", n.JSON),
        ("*/*", n.JSON),
        ("application/*", n.JSON),
        ("application/yaml;charset=utf-8", n.YAML),
        ("application/json;q=0.1, application/yaml;q=0.9", n.YAML),
        ("application/json;q=0.5,application/vnd.kubernetes.protobuf", n.PROTOBUF),
        ("text/html, */*;q=0.1", n.JSON),
        ("*/*, application/cbor", n.CBOR),
        ("nonsense, application/yaml", n.YAML),
        ("application/json;q=x,application/yaml;q=0.5", n.YAML),
    ],
)
def test_the_best_clause_that_the_server_knows_wins(accept: str, media_type: str) -> None:
    assert n.negotiate(accept, RESOURCE).media_type == media_type


def test_kubectls_header_gets_a_table() -> None:
    accept = (
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta."
        "k8s.io,application/json"
    )
    assert n.negotiate(accept, RESOURCE).convert == TABLE


@pytest.mark.parametrize(
    "accept",
    [
        "text/plain",
        "application/json;as=Table;g=nothing;v=v1",
        "application/json;as=Table;g=meta.k8s.io;v=v2",
        "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1",
        "application/json;as=Pod;g=meta.k8s.io;v=v1",
        "application/yaml;stream=watch",
        "application/json;stream=other",
    ],
)
def test_what_cannot_be_given_is_406(accept: str) -> None:
    with pytest.raises(NotAcceptable) as e:
        n.negotiate(accept, RESOURCE)
    assert e.value.message == (
        "only the following media types are accepted: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf, application/cbor"
    )


def test_custom_resources_have_no_protobuf_but_their_metadata_does() -> None:
    custom = n.allow_resource(n.CUSTOM)
    partial = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    assert n.negotiate(partial, custom).media_type == n.PROTOBUF
    assert (
        n.negotiate("application/vnd.kubernetes.protobuf, application/json", custom).media_type
        == n.JSON
    )
    with pytest.raises(NotAcceptable, match="only the following media types are accepted"):
        n.negotiate("application/vnd.kubernetes.protobuf", custom)


@pytest.mark.parametrize(
    ("accept", "stream_type"),
    [
        ("", "application/json"),
        ("application/json;stream=watch", "application/json"),
        ("application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf;stream=watch"),
        ("application/cbor", "application/cbor-seq"),
    ],
)
def test_watches_name_their_framing(accept: str, stream_type: str) -> None:
    assert n.negotiate_stream(accept, RESOURCE).stream_type == stream_type


def test_yaml_cannot_be_watched() -> None:
    with pytest.raises(NotAcceptable) as e:
        n.negotiate_stream("application/yaml", RESOURCE)
    assert e.value.message == (
        "only the following media types are accepted: "
        "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch, "
        "application/cbor-seq"
    )


def test_a_watch_in_what_nothing_has_is_told_all_types() -> None:
    with pytest.raises(NotAcceptable) as e:
        n.negotiate_stream("application/json;stream=other", RESOURCE)
    assert e.value.message == (
        "only the following media types are accepted: application/json, application/yaml, "
        "application/vnd.kubernetes.protobuf, application/cbor"
    )


def test_errors_come_in_the_asked_encoding_or_as_indented_json() -> None:
    assert n.negotiate_error("application/yaml") == n.Accepted(n.YAML)
    assert n.negotiate_error("application/yaml;as=Table;g=meta.k8s.io;v=v1") == n.Accepted(
        n.JSON, pretty=True
    )
    assert n.negotiate_error("text/plain") == n.Accepted(n.JSON, pretty=True)


@pytest.mark.parametrize(
    ("query", "agent", "pretty"),
    [
        ("", "kubectl/v1", False),
        ("", "curl/8", True),
        ("pretty=false", "curl/8", False),
        ("pretty=1", "x", True),
        ("pretty=", "Wget/1", True),
    ],
)
def test_pretty(query: str, agent: str, pretty: bool) -> None:
    assert n.wants_pretty(query, agent) is pretty


def test_bodies() -> None:
    assert n.body_type("") == n.JSON
    assert n.body_type("Application/JSON; charset=utf-8") == n.JSON
    assert n.body_type('application/yaml; a="b;c";') == n.YAML
    for malformed in (
        "application/json; charset",
        "application/json; =x",
        "application/json, application/yaml",
    ):
        with pytest.raises(UnsupportedMediaType):
            n.body_type(malformed)
    with pytest.raises(UnsupportedMediaType) as e:
        n.body_type("text/yaml")
    assert e.value.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf, application/cbor"
    )


def test_the_router_knows_no_partial_wildcards() -> None:
    n.check_route("")
    n.check_route("text/html, */*;q=0.1")
    n.check_route("application/json;as=Table;g=meta.k8s.io;v=v1")
    n.check_route("application/json")
    with pytest.raises(NotAcceptable, match="representations: application/jwk-set"):
        n.check_route("application/json", supported=("application/jwk-set+json",))
    with pytest.raises(NotAcceptable) as e:
        n.check_route("application/*")
    assert e.value.message == (
        "406: Not Acceptable\n\nAvailable representations: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf, application/cbor"
    )
    assert e.value.details == {}
    with pytest.raises(
        NotAcceptable,
        match=r"application/cbor, application/json;stream=watch, .*, application/cbor-seq$",
    ):
        n.check_route("text/html", lists=True)


def test_patches() -> None:
    assert n.patch_type("application/merge-patch+json; charset=utf-8") == n.MERGE_PATCH
    with pytest.raises(UnsupportedMediaType) as e:
        n.patch_type("application/poem-patch+json")
    assert e.value.to_status()["details"] == {} and e.value.message == "415: Unsupported Media Type"
    with pytest.raises(UnsupportedMediaType) as e:
        n.patch_type(n.STRATEGIC_PATCH, n.CUSTOM_PATCHES, routed=False)
    assert e.value.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml, "
        "application/apply-patch+cbor"
    )
