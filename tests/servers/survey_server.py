"""A local server with the surveys' address schemes, which can be told to misbehave.

Serves bytes by path (with query), with Range, ETag and Content-Length as the surveys' file servers do, LAMOST's cone
search, SkyServer's SQL search and SPARCL's two calls. ``faults`` hold, for each path, what the next requests for it get.
"""

import hashlib
import json
import threading
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

LOGIN_PAGE = b"<!DOCTYPE html><html><body>Please sign in</body></html>"


class SurveyServer:
    """The server, in a thread of this process. Use it as a context manager."""

    def __init__(self, files=None, answers=None):
        self.files = dict(files or {})  # path with query -> bytes
        self.answers = dict(answers or {})  # path -> function(query, posted JSON) -> bytes
        self.faults = defaultdict(list)  # path with query -> kinds of faults, used up one a request
        self.always = None  # a fault for every request
        self.requests = []  # (method, path with query, headers)
        self.times = []
        self.busy = self.most_busy = 0
        self.delay_s = 0.0
        self.ranges = True
        self.etag_of = {}  # path -> ETag instead of the content's
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # a client that was killed
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def count(self, path, method="GET"):
        return sum(1 for verb, asked, _ in self.requests if asked == path and verb == method)

    def enter(self, method, path, headers):
        with self._lock:
            self.requests.append((method, path, headers))
            self.times.append(time.monotonic())
            self.busy += 1
            self.most_busy = max(self.most_busy, self.busy)
            queue = self.faults[path]
            return queue.pop(0) if queue else self.always

    def leave(self):
        with self._lock:
            self.busy -= 1

    def _handler(self):
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                """Say nothing."""

            def do_GET(self):
                self.act("GET")

            def do_HEAD(self):
                self.act("HEAD")

            def do_POST(self):
                self.act("POST")

            def act(self, method):
                posted = None
                if method == "POST":
                    posted = json.loads(
                        self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"null"
                    )
                path = without_token(self.path)
                fault = server.enter(method, path, dict(self.headers) | {"path as sent": self.path})
                try:
                    time.sleep(server.delay_s)
                    self.reply(method, path, fault, posted)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                finally:
                    server.leave()

            def reply(self, method, path, fault, posted):
                if fault and fault[:3].isdigit():  # "503" or "429 2": status, seconds to wait
                    status, _, wait = fault.partition(" ")
                    return self.send(int(status), b"busy", {"Retry-After": wait} if wait else {})
                if fault == "login" or str(fault).startswith("to "):  # "to ADDRESS": a redirect
                    status, headers = (200, {}) if fault == "login" else (302, {"Location": fault[3:]})
                    return self.send(status, LOGIN_PAGE, headers)
                if fault == "hang up":
                    self.close_connection = True
                    return self.connection.close()
                plain, _, query = path.partition("?")
                if plain in server.answers:
                    return self.send(
                        200, server.answers[plain](dict(parse_qsl(query)), posted), close=fault == "cut"
                    )
                if path not in server.files:
                    return self.send(404, b"no such file")
                return self.send_file(path, method, fault)

            def send_file(self, path, method, fault):
                content = server.files[path]
                if fault == "flip":
                    middle = len(content) // 2
                    content = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
                if isinstance(fault, bytes):
                    content = fault
                etag = server.etag_of.get(path, f'"{hashlib.md5(content).hexdigest()}"')
                headers = {"ETag": etag, "Accept-Ranges": "bytes"} if server.ranges else {}
                start = 0
                wanted = self.headers.get("Range")
                if wanted and server.ranges and self.headers.get("If-Range") == etag:
                    start = int(wanted.removeprefix("bytes=").rstrip("-"))
                    headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
                body = content[start:]
                if method == "HEAD":
                    return self.send(200, body, headers, only_head=True)
                if fault == "cut without length":
                    self.send_response(200)
                    self.send_header("Connection", "close")
                    self.end_headers()
                    self.wfile.write(body[: len(body) // 2])
                    self.close_connection = True
                    return None
                if fault == "stall":
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body[:100])
                    self.wfile.flush()
                    time.sleep(1)
                    self.close_connection = True
                    return None
                return self.send(206 if start else 200, body, headers, close=fault == "cut")

            def send(self, status, body, headers=None, *, close=False, only_head=False):
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if only_head:
                    return
                self.wfile.write(body[: len(body) // 2] if close else body)
                if close:
                    self.wfile.flush()
                    self.close_connection = True
                    self.connection.close()

        return Handler


def without_token(path):
    """Return a path without the token in its query, as files are kept under."""
    parts = urlsplit(path)
    query = "&".join(word for word in parts.query.split("&") if word and not word.startswith("token="))
    return parts.path + (f"?{query}" if query else "")
