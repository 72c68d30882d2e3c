"""What an answer other than 200 means, in client-go's words (k8s.io/client-go ``rest/request.go``,
k8s.io/apimachinery ``api/errors`` NewGenericServerResponse)."""

from __future__ import annotations

import orjson

from admission.webhooks.connection import Answer
from admission.webhooks.errors import CallFailed
from apiserver.golang.strconv import go_quote

_SHOWN = 2048
"""Bytes of a body that an error repeats."""

_CUT_OFF = (
    "unexpected error when reading response body. Please retry. Original error: unexpected EOF"
)
_TEXTS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: (
        "the server was unable to return a response in the time allotted, but may still "
        "be processing the request"
    ),
}


def body_of(answer: Answer) -> bytes:
    """Raises CallFailed for anything but a success with a body."""
    if answer.cut:
        raise CallFailed(_CUT_OFF)
    if not 200 <= answer.status <= 206:
        raise CallFailed(_failure(answer), answer.status)
    if not answer.body:
        raise CallFailed(
            f"0-length response with status code: {answer.status} and content type: "
            f"{answer.content_type}"
        )
    return answer.body


def _failure(answer: Answer) -> str:
    if text := _status_message(answer.body):
        return text
    media_type = answer.content_type.partition(";")[0].strip().lower()
    said = "unknown"
    if not media_type or media_type.startswith("text/"):
        said = answer.body[:_SHOWN].decode("utf-8", "replace").strip()
    if answer.status in _TEXTS:
        return _TEXTS[answer.status]
    if answer.status in (403, 415):
        return said
    if answer.status == 406:
        return (
            said
            if said not in ("", "unknown")
            else "the server was unable to respond with a content type that the client supports"
        )
    if answer.status >= 500:
        return (
            f"an error on the server ({go_quote(said)}) has prevented the request from succeeding"
        )
    return (
        f"the server responded with the status code {answer.status} but did not return "
        f"more information"
    )


def _status_message(body: bytes) -> str:
    """The message of a Status that says Failure."""
    try:
        status = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    if (
        not isinstance(status, dict)
        or status.get("kind", "Status") != "Status"
        or status.get("status") != "Failure"
    ):
        return ""
    return str(status.get("message") or "")
