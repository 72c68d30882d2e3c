"""When the certificate in a Secret for TLS ends: the one thing of what is in Secrets that the index
keeps, in the clear. A server shows its certificate to everybody who connects; keys, subjects and
all else stay in the Secret."""

from __future__ import annotations

import base64
from datetime import datetime

from apiserver.kinds.common.certificates import ends
from apiserver.kinds.core.secret import TLS
from apiserver.meta.objects import ReadOnlyObject
from apiserver.search.words import SECRETS
from apiserver.storage.interface import ObjectKey


def first_end(key: ObjectKey, obj: ReadOnlyObject) -> datetime | None:
    """Of the certificates in ``tls.crt``, which a server shows as a chain: it is good no longer
    than the first of them. None for all that has none which can be read."""
    if key.group_resource != SECRETS or obj.get("type") != TLS:
        return None
    try:
        chain = base64.b64decode((obj.get("data") or {}).get("tls.crt") or "")
    except ValueError:  # written past the API
        return None
    return min(ends(chain), default=None)
