"""Go's reading of URLs (package ``net/url``): what it accepts, its parts, its error texts."""

from __future__ import annotations

import re
from typing import NamedTuple

from apiserver.golang.strconv import go_quote


class UrlError(ValueError):
    """The text is Go's."""


class Url(NamedTuple):
    """host: with port and brackets; path: decoded; raw_path: as written; query: raw."""

    scheme: str = ""
    opaque: str = ""
    user: str | None = None
    host: str = ""
    path: str = ""
    raw_path: str = ""
    query: str = ""
    force_query: bool = False
    fragment: str | None = None

    @property
    def hostname(self) -> str:
        return _split_port(self.host)[0].removeprefix("[").removesuffix("]")

    @property
    def port(self) -> str:
        return _split_port(self.host)[1]

    @property
    def escaped_path(self) -> str:
        if _valid_encoding(self.raw_path) and _unescape(self.raw_path, "path") == self.path:
            return self.raw_path
        return "*" if self.path == "*" else _escape_path(self.path)

    def __str__(self) -> str:
        out = f"{self.scheme}:" if self.scheme else ""
        if self.opaque:
            out += self.opaque
        else:
            if self.scheme or self.host or self.user is not None:
                if self.host or self.path or self.user is not None:
                    out += (
                        "//"
                        if self.host
                        or self.user is not None
                        or self.path.startswith("//")
                        or self.scheme == "file"
                        else ""
                    )
                out += f"{self.user}@" if self.user is not None else ""
                out += self.host
            path = self.escaped_path
            out += "/" if path and not path.startswith("/") and self.host else ""
            out += path
        out += f"?{self.query}" if self.force_query or self.query else ""
        return out + (f"#{self.fragment}" if self.fragment else "")


def _error(text: str, message: str) -> UrlError:
    return UrlError(f"parse {go_quote(text)}: {message}")


def parse_request_uri(text: str) -> Url:
    """A URL as a request line has it: absolute or a path; no fragment is split off. Raises
    UrlError."""
    return _wrapped(text, text, via_request=True)


def parse_url(text: str) -> Url:
    """Raises UrlError."""
    body, hash_, fragment = text.partition("#")
    url = _wrapped(text, body, via_request=False)
    if hash_ and fragment:
        _wrapped_unescape(text, fragment, "fragment")
        url = url._replace(fragment=fragment)
    return url


def _wrapped(quoted: str, text: str, via_request: bool) -> Url:
    try:
        return _parse(text, via_request)
    except ValueError as e:
        raise _error(quoted, str(e)) from None


def _wrapped_unescape(quoted: str, text: str, mode: str) -> None:
    try:
        _unescape(text, mode)
    except ValueError as e:
        raise _error(quoted, str(e)) from None


def _parse(raw: str, via_request: bool) -> Url:
    if any(c < " " or c == "\x7f" for c in raw):
        raise ValueError("net/url: invalid control character in URL")
    if not raw and via_request:
        raise ValueError("empty url")
    if raw == "*":
        return Url(path="*")
    scheme, rest = _scheme(raw)
    scheme = scheme.lower()
    force_query, query = False, ""
    if rest.endswith("?") and rest.count("?") == 1:
        rest, force_query = rest[:-1], True
    else:
        rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme, opaque=rest, query=query, force_query=force_query)
        if via_request:
            raise ValueError("invalid URI for request")
        if ":" in rest.split("/", 1)[0]:
            raise ValueError("first path segment in URL cannot contain colon")
    user: str | None = None
    host = ""
    if (scheme or (not via_request and not rest.startswith("///"))) and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, host = _authority(authority)
    return Url(scheme, "", user, host, _unescape(rest, "path"), rest, query, force_query)


def _scheme(raw: str) -> tuple[str, str]:
    for i, c in enumerate(raw):
        if c.isascii() and c.isalpha():
            continue
        if c in "0123456789+-.":
            if i == 0:
                return "", raw
            continue
        if c == ":":
            if i == 0:
                raise ValueError("missing protocol scheme")
            return raw[:i], raw[i + 1 :]
        return "", raw
    return "", raw


_USERINFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")


def _authority(authority: str) -> tuple[str | None, str]:
    userinfo, at, host = authority.rpartition("@")
    parsed = _host(host)
    if not at:
        return None, parsed
    if not _USERINFO.fullmatch(userinfo):
        raise ValueError("net/url: invalid userinfo")
    _unescape(userinfo, "userinfo")
    return userinfo, parsed


def _host(host: str) -> str:
    if host.startswith("["):
        end = host.rfind("]")
        if end < 0:
            raise ValueError("missing ']' in host")
        _port(host[end + 1 :])
        zone = host.find("%25", 0, end)
        if zone >= 0:
            return (
                _unescape(host[:zone], "host")
                + _unescape(host[zone:end], "zone")
                + _unescape(host[end:], "host")
            )
    else:
        colon = host.find(":")
        if colon >= 0:
            _port(host[colon:])
    return _unescape(host, "host")


def _port(port: str) -> None:
    if port and not re.fullmatch(r":[0-9]*", port):
        raise ValueError(f"invalid port {go_quote(port)} after host")


def _split_port(host: str) -> tuple[str, str]:
    colon = host.rfind(":")
    if colon >= 0 and re.fullmatch(r":[0-9]*", host[colon:]):
        return host[:colon], host[colon + 1 :]
    return host, ""


_HOST_CHARACTERS = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~!$&'()*+,;=:[]<>\""
)


def _unescape(text: str, mode: str) -> str:
    """Go's unescape: raises ValueError for a broken escape and for what a host may not hold."""
    if (
        mode not in ("host", "zone")
        and text.isascii()
        and "%" not in text
        and (mode != "query" or "+" not in text)
    ):
        return text
    out = bytearray()
    data = text.encode("utf-8", "surrogatepass")
    at = 0
    while at < len(data):
        c = data[at]
        if c == 0x25:
            digits = data[at + 1 : at + 3]
            if len(digits) < 2 or not re.fullmatch(rb"[0-9a-fA-F]{2}", digits):
                sequence = data[at : at + 3].decode(errors="replace")
                raise ValueError(f"invalid URL escape {go_quote(sequence)}")
            value = int(digits, 16)
            escape = data[at : at + 3].decode()
            if mode == "host" and value < 0x80 and escape != "%25":
                raise ValueError(f"invalid URL escape {go_quote(escape)}")
            if (
                mode == "zone"
                and escape != "%25"
                and value != 0x20
                and chr(value) not in _HOST_CHARACTERS
                and value < 0x80
            ):
                raise ValueError(f"invalid URL escape {go_quote(escape)}")
            out.append(value)
            at += 3
            continue
        if mode in ("host", "zone") and c < 0x80 and chr(c) not in _HOST_CHARACTERS:
            raise ValueError(f"invalid character {go_quote(chr(c))} in host name")
        out.append(0x20 if c == 0x2B and mode == "query" else c)
        at += 1
    return out.decode(errors="surrogateescape")


_PATH_SAFE = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~$&+,/:;=@"
)


def _escape_path(path: str) -> str:
    return "".join(
        chr(b) if b in _PATH_SAFE else f"%{b:02X}" for b in path.encode("utf-8", "surrogateescape")
    )


_PATH_ENCODED = frozenset(b"!$&'()*+,;=:@[]%")


def _valid_encoding(raw: str) -> bool:
    return bool(raw) and all(
        b in _PATH_SAFE or b in _PATH_ENCODED for b in raw.encode("utf-8", "surrogatepass")
    )


def path_unescape(text: str) -> str:
    """PathUnescape. Raises ValueError for a broken escape."""
    return _unescape(text, "path")


def parse_query(raw: str) -> dict[str, list[str]]:
    """Values by key; what cannot be decoded is left out, as Go's Query() does."""
    values: dict[str, list[str]] = {}
    for pair in raw.split("&"):
        if not pair or ";" in pair:
            continue
        key, _, value = pair.partition("=")
        try:
            decoded_key, decoded = _unescape(key, "query"), _unescape(value, "query")
        except ValueError:
            continue
        values.setdefault(decoded_key, []).append(decoded)
    return values
