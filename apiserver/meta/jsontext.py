"""How long a text is inside a JSON document, and a text cut to fit there."""

from __future__ import annotations

from json.encoder import encode_basestring


def json_size(text: str) -> int:
    """Bytes of the text as a JSON string, quotes included."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return len(text) + 2
    return len(encode_basestring(text).encode(errors="surrogatepass"))


def cut_to_size(text: str, most: int) -> str:
    """The text, or as much of its beginning as takes at most ``most`` bytes of JSON, with a word on
    how much is missing."""
    if (
        len(text) * 6 + 2 <= most or json_size(text) <= most
    ):  # six: the longest escape of one character
        return text
    kept = text[:most]
    while kept and (size := json_size(kept)) > most:
        kept = kept[: min(len(kept) - 1, len(kept) * most // size)]
    return f"{kept}... ({len(text) - len(kept)} more characters)"
