"""A webhook for tests: HTTPS with a CA of its own, on the event loop of the test, answering as it
is told."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ipaddress
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from apiserver.meta.objects import Object
from tests.support.installation import free_port


class Reply:
    """What goes over the wire; closes: and then the connection is closed."""

    def __init__(
        self,
        body: bytes,
        status: int = 200,
        content_type: str = "application/json",
        headers: str = "",
        *,
        closes: bool = False,
    ) -> None:
        self.closes = closes
        reason = {200: "OK", 302: "Found"}.get(status, "Status")
        kind = f"Content-Type: {content_type}\r\n" if content_type else ""
        self.data = (
            f"HTTP/1.1 {status} {reason}\r\n{kind}{headers}Content-Length: "
            f"{len(body)}\r\n\r\n".encode()
            + body
        )


Answer = Callable[[Object], Awaitable[Object | Reply | None]]
"""From a review to the review that is sent back, or bytes; None closes the connection."""


@cache
def authority(name: str = "one") -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"ca {name}")])
    made = _builder(subject, subject, key).add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    return made.sign(key, hashes.SHA256()), key


def bundle(name: str = "one") -> str:
    """A caBundle."""
    return base64.b64encode(authority(name)[0].public_bytes(serialization.Encoding.PEM)).decode()


def certificate(*names: str, days: int = 1) -> tuple[bytes, bytes]:
    """A certificate for DNS names and addresses, by the CA "one", and its key, as PEM; days: how
    long it is good, from yesterday."""
    ca, ca_key = authority("one")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "webhook")])
    alternatives: list[x509.GeneralName] = [_name(n) for n in names]
    builder = _builder(subject, ca.subject, key, days).add_extension(
        x509.SubjectAlternativeName(alternatives), critical=False
    )
    return builder.sign(ca_key, hashes.SHA256()).public_bytes(
        serialization.Encoding.PEM
    ), key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def serving_context(*names: str, days: int = 1) -> ssl.SSLContext:
    """With such a `certificate`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as directory:
        files = Path(directory, "crt"), Path(directory, "key")
        for file, content in zip(files, certificate(*names, days=days), strict=True):
            file.write_bytes(content)
        context.load_cert_chain(*files)
    return context


def _name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: int = 30
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
    )
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - timedelta(days=2)).not_valid_after(
        now + timedelta(days=days - 1 if days < 1 else days)
    )


class Webhook:
    """calls: the reviews that came; requests: their request lines; connections: how many were
    opened."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.calls: list[Object] = []
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.connections = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}/convert"

    def config(self, **more: Any) -> Object:
        return {"url": self.url, "caBundle": bundle(), **more}

    @property
    def asked(self) -> int:
        """Objects that came with all calls."""
        return sum(len(call["request"]["objects"]) for call in self.calls)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                while await self._one(reader, writer):
                    pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
        review = orjson.loads(await reader.readexactly(int(headers["content-length"])))
        self.requests.append(first)
        self.headers.append(headers)
        self.calls.append(review)
        made = await self.answer(review)
        if made is None:
            return False
        writer.write(made.data if isinstance(made, Reply) else Reply(orjson.dumps(made)).data)
        await writer.drain()
        return not (isinstance(made, Reply) and made.closes)


@asynccontextmanager
async def webhook(
    answer: Answer, context: ssl.SSLContext | None = None, *, plain: bool = False
) -> AsyncIterator[Webhook]:
    """``plain``: speaks HTTP without TLS."""
    made = Webhook(answer)
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await (_no_tls(reader, writer) if plain else made.serve(reader, writer))
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            tasks.discard(task)

    tls = None if plain else context or serving_context("127.0.0.1", "localhost")
    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tuple(tasks), return_exceptions=True)
        await server.wait_closed()


async def _no_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(Reply(b"speak HTTP", 400).data)
    with contextlib.suppress(ConnectionError):
        await writer.drain()
    writer.close()


def nobody() -> Object:
    """A clientConfig of a webhook that is not there."""
    return {"url": f"https://127.0.0.1:{free_port()}/convert", "caBundle": bundle()}


# --- answers of conversion webhooks ---------------------------------------------------------------
def success(review: Object, objects: list[Any], **more: Any) -> Object:
    response = {
        "uid": review["request"]["uid"],
        "result": {"status": "Success"},
        "convertedObjects": objects,
        **more,
    }
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}


def convert_one(obj: Object, wanted: str) -> Object:
    """Between v1, which has host and port, and v2, which has both in one address; what a v1 has of
    its own is kept in an annotation."""
    made = {**obj, "apiVersion": wanted}
    spec = dict(obj.get("spec") or {})
    if wanted.endswith("/v2") and "host" in spec:
        spec["address"] = f"{spec.pop('host')}:{spec.pop('port', 80)}"
    if not wanted.endswith("/v2") and "address" in spec:
        host, _, port = spec.pop("address").partition(":")
        spec.update(host=host, port=int(port or 80))
    if spec:
        made["spec"] = spec
    return made


async def converting(review: Object) -> Object:
    wanted = review["request"]["desiredAPIVersion"]
    return success(review, [convert_one(o, wanted) for o in review["request"]["objects"]])
