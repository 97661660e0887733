"""A package index of our own on the loopback, with small wheels, that can fail in every way that an index does."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import threading
import zipfile
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_JSON = "application/vnd.pypi.simple.v1+json"


def wheel(name: str, version: str, files: Mapping[str, str]) -> tuple[str, bytes]:
    """Return the file name and the bytes of a pure wheel with these modules."""
    info = f"{name}-{version}.dist-info"
    members = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},"
        f"{len(text.encode())}\n"
        for path, text in members.items()
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in {**members, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            archive.writestr(path, text)
    return f"{name}-{version}-py3-none-any.whl", buffer.getvalue()


class Index:
    """Serves wheels. `cut` names those whose connection breaks half-way, `lies` those with another hash than told.

    requires  project -> the Python that its files want; asked: the files that were downloaded, whole or not.
    """

    def __init__(self) -> None:
        self.wheels: dict[str, bytes] = {}
        self.cut: set[str] = set()
        self.lies: set[str] = set()
        self.requires: dict[str, str] = {}
        self.asked: list[str] = []
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                index._answer(self)

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/simple"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def add(self, name: str, version: str, files: Mapping[str, str]) -> None:
        filename, content = wheel(name, version, files)
        self.wheels[filename] = content

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        kind, _, name = handler.path.strip("/").partition("/")
        if kind == "simple":
            self._list(handler, name)
        elif name in self.wheels:
            self._send(handler, name)
        else:
            handler.send_error(404)

    def _list(self, handler: BaseHTTPRequestHandler, project: str) -> None:
        files = [
            {
                "filename": filename,
                "url": f"{self.url.removesuffix('/simple')}/files/{filename}",
                "hashes": {"sha256": self._told_hash(filename)},
                "size": len(content),
                "requires-python": self.requires.get(project),
            }
            for filename, content in self.wheels.items()
            if filename.split("-")[0].replace("_", "-").lower() == project
        ]
        if not files:
            handler.send_error(404)
            return
        body = json.dumps({"meta": {"api-version": "1.1"}, "name": project, "files": files}).encode()
        self._reply(handler, body, _JSON, len(body))

    def _told_hash(self, filename: str) -> str:
        if filename in self.lies:
            return "0" * 64
        return hashlib.sha256(self.wheels[filename]).hexdigest()

    def _send(self, handler: BaseHTTPRequestHandler, name: str) -> None:
        content = self.wheels[name]
        self.asked.append(name)
        body = content[: len(content) // 2] if name in self.cut else content
        self._reply(handler, body, "application/octet-stream", len(content))

    @staticmethod
    def _reply(handler: BaseHTTPRequestHandler, body: bytes, kind: str, length: int) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(length))
        handler.end_headers()
        handler.wfile.write(body)
        handler.close_connection = True
