"""The server's id, as kube-apiserver makes it of a machine's name."""

from __future__ import annotations

import hashlib
import re
import socket

from apiserver.identity import server_id, server_id_hash


def test_machines_have_ids_of_their_own() -> None:
    # sha256 of 00 01 61 00 0e and "kube-apiserver", its first 16 bytes in base 32
    assert server_id("a") == "apiserver-2tpgmlbwcz6wvzejdfn7mej2p4"
    assert re.fullmatch("apiserver-[a-z2-7]{26}", server_id("b")) and server_id("b") != server_id(
        "a"
    )


def test_the_hash_is_of_the_id_of_this_machine() -> None:
    own = hashlib.sha256(server_id(socket.gethostname()).encode()).hexdigest()
    assert server_id_hash() == f"sha256:{own}"
