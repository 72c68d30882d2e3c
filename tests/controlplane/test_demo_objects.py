"""The demo's objects of the first start, where the server does not answer."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest
import yaml

from controlplane.bootstrap import load_demo
from controlplane.errors import OperatorError


def test_a_server_that_does_not_answer_is_told_with_the_way_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump({"users": [{"user": {"token": "t"}}]}))
    with pytest.raises(OperatorError, match="could not be made: no answer to GET") as raised:
        load_demo(f"https://127.0.0.1:{port}", ssl.create_default_context(), kubeconfig)
    assert "start again" in raised.value.fix
