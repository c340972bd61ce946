"""A service below a path of another server's (`https://HOST/thinkeval`), behind a proxy.

The application knows nothing of the path. This middleware takes it off the requests of a proxy that
does not strip it, and puts it before the paths of responses: `Location`, the cookie, `links` and
`instance` of JSON, and the addresses in a page's HTML. Scripts find it by their own address
(`static/root.js`). The path is set by the operator, never by a header of a request.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ADDRESS = re.compile(rb"(?<=\s)((?:href|src|action|formaction)=[\"'])(/(?!/)[^\"']*)")
_COOKIE_PATH = re.compile(r"(;\s*path=)/(?=;|$)", re.IGNORECASE)
_JSON = ("application/json", "application/problem+json")
_DOCUMENT = "/openapi.json"
"""Its examples have the paths of the application; its `servers` have the root path."""


class RootPath:
    """ASGI middleware that serves an application below a path.

    Args:
        root: the path, such as `/thinkeval`.
    """

    def __init__(self, app: ASGIApp, root: str) -> None:
        self.app, self.root = app, root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on without the path, and the response with it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        if path == self.root or path.startswith(f"{self.root}/"):
            raw = scope.get("raw_path") or path.encode()
            scope = {
                **scope,
                "path": path[len(self.root) :] or "/",
                "raw_path": raw[len(self.root) :] or b"/",
            }
        await self.app(scope, receive, _Sender(self, scope, send))

    def at(self, path: str) -> str:
        """The path as a client names it."""
        own = path.startswith("/") and not path.startswith("//")
        return self.root + path if own and not self._has_root(path) else path

    def _has_root(self, path: str) -> bool:
        return re.match(rf"{re.escape(self.root)}(?:[/?#]|$)", path) is not None

    def location(self, address: str, host: str) -> str:
        """A redirection's address; one on another host is left as it is."""
        parts = urlsplit(address)
        if parts.netloc and parts.netloc.lower() != host.lower():
            return address
        return parts._replace(path=self.at(parts.path)).geturl()

    def page(self, body: bytes) -> bytes:
        """HTML with the path before its addresses; a text's quotes are escaped in it."""
        return _ADDRESS.sub(lambda m: m[1] + self.at(m[2].decode()).encode(), body)

    def content(self, body: bytes) -> bytes:
        """JSON with the path in its `links` and `instance`; unchanged where it has none."""
        try:
            found = json.loads(body)
        except ValueError:
            return body
        if not self._linked(found):
            return body
        return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()

    def _linked(self, node: Any) -> bool:
        """Change the links of a JSON value in place; return True if there is any."""
        inner = node if isinstance(node, list) else node.values() if isinstance(node, dict) else ()
        changed = sum(self._linked(each) for each in inner) > 0
        if not isinstance(node, dict):
            return changed
        links = node.get("links")
        places = [(links, key) for key in links] if isinstance(links, dict) else []
        if "instance" in node and "detail" in node:
            places.append((node, "instance"))
        for place, key in places:
            if isinstance(value := place[key], str) and value.startswith("/"):
                place[key], changed = self.at(value), True
        return changed


class _Sender:
    """Sends a response with the path; bodies of pages and JSON are sent as one."""

    def __init__(self, middleware: RootPath, scope: Scope, send: Send) -> None:
        self._middleware, self._path, self._send = middleware, scope["path"], send
        self._host = Headers(scope=scope).get("host", "")
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if (address := headers.get("location")) is not None:
                headers["location"] = self._middleware.location(address, self._host)
            message["headers"] = [
                (name, self._cookie(value) if name == b"set-cookie" else value)
                for name, value in message["headers"]
            ]
            kind = headers.get("content-type", "").partition(";")[0]
            download = headers.get("content-disposition", "").startswith("attachment")
            json_ = kind in _JSON and self._path != _DOCUMENT
            if (kind == "text/html" or json_) and not download:
                self._start, self._json = message, json_
                return
        elif message["type"] == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if message.get("more_body", False):
                return
            change = self._middleware.content if self._json else self._middleware.page
            body, start = change(self._body), self._start
            if self._body:  # of HEAD and 304 there is none, and their length is another's
                MutableHeaders(scope=start)["content-length"] = str(len(body))
            self._start = None
            await self._send(start)
            message = {**message, "body": body}
        await self._send(message)

    def _cookie(self, value: bytes) -> bytes:
        root = self._middleware.root
        return _COOKIE_PATH.sub(lambda m: m[1] + root, value.decode("latin-1")).encode("latin-1")
