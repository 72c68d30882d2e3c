"""When certificates in Secrets for TLS end, and nothing else of what is in Secrets."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from apiserver.kinds.common.certificates import MOST_OF_A_CHAIN
from apiserver.search.certificates import first_end
from apiserver.search.terms import terms
from apiserver.storage.interface import ObjectKey
from tests.support.tlssecrets import certificate, secret

KEY = ObjectKey("", "secrets", "ns", "a")
EARLY, LATE = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC), datetime(2040, 1, 1, tzinfo=UTC)


def test_a_chain_ends_with_the_first_of_it() -> None:
    early, late = certificate(EARLY), certificate(LATE)
    assert first_end(KEY, secret("a", late)) == LATE
    assert (
        first_end(KEY, secret("a", late + early))
        == first_end(KEY, secret("a", early + late))
        == EARLY
    )
    assert first_end(KEY, secret("a", b"words before\n" + late.rstrip())) == LATE


BROKEN = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    "content", [b"", b"\0\xff", BROKEN, BROKEN[:40], BROKEN.replace(b"CERTIFICATE", b"X")]
)
def test_what_cannot_be_read_has_no_end(content: bytes) -> None:
    assert first_end(KEY, secret("a", content)) is None
    assert first_end(KEY, secret("a", content + certificate(EARLY))) in (EARLY, None)


def test_what_was_written_past_the_api_has_no_end() -> None:
    held = secret("a", b"")
    held["data"]["tls.crt"] = "A"
    assert first_end(KEY, held) is None
    assert first_end(KEY, {"metadata": {}, "type": "kubernetes.io/tls"}) is None


def test_a_chain_is_read_to_a_bound() -> None:
    late, early = certificate(LATE), certificate(EARLY)
    assert first_end(KEY, secret("a", late * MOST_OF_A_CHAIN + early)) == LATE
    assert first_end(KEY, secret("a", late * (MOST_OF_A_CHAIN - 1) + early)) == EARLY


def test_other_secrets_and_other_kinds_have_no_end() -> None:
    content = certificate(EARLY)
    assert first_end(KEY, secret("a", content, "Opaque")) is None
    assert first_end(KEY._replace(resource="configmaps"), secret("a", content)) is None
    assert first_end(KEY._replace(group="example.com"), secret("a", content)) is None


def test_no_word_of_a_certificate_is_searched() -> None:
    found = terms(7, KEY, secret("a", certificate(EARLY)))
    assert found.split() == ["7#secrets.", "7@ns", "7na", "7nu"]
