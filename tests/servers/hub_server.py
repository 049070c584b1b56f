"""A local server that speaks as much of the Hub's protocol as fetching and pushing a dataset needs.

Repositories are in memory: each commit is a whole set of files. What a client sent is kept for the test.
"""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit


@dataclass
class Hub:
    """Repositories by name: commits by hash, branches by name; and what the server was asked."""

    token: str | None = None
    commits: dict[str, dict[str, dict[str, bytes]]] = field(default_factory=dict)
    branches: dict[str, dict[str, str]] = field(default_factory=dict)
    private: set[str] = field(default_factory=set)
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)

    def add(
        self, repo: str, files: Mapping[str, bytes], commit: str | None = None, branch: str = "main"
    ) -> str:
        """Add a commit that holds these files; return its hash."""
        name = (
            commit or hashlib.sha1(json.dumps([repo, len(self.commits.get(repo, {}))]).encode()).hexdigest()
        )
        self.commits.setdefault(repo, {})[name] = dict(files)
        self.branches.setdefault(repo, {})[branch] = name
        return name

    def head(self, repo: str) -> dict[str, bytes]:
        """Return the files of the main branch."""
        return self.commits[repo][self.branches[repo]["main"]]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append((self.command, path, self.headers.get("Authorization")))
        if self.command == "POST" and self.headers.get("Authorization") != f"Bearer {self.hub.token}":
            return self._json({"error": "Invalid credentials"}, 401)
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "datasets"]:
            return self._api("/".join(parts[2:4]), parts[4:], body)
        if parts[0] == "datasets" and len(parts) > 5 and parts[3] == "resolve":
            return self._file("/".join(parts[1:3]), parts[4], "/".join(parts[5:]))
        if path == "/api/repos/create":
            asked = json.loads(body)
            repo = f"{asked.get('organization') or 'someone'}/{asked['name']}"
            if repo not in self.hub.commits:
                self.hub.add(repo, {})
                self.hub.private |= (
                    {repo} if asked.get("visibility") == "private" or asked.get("private") else set()
                )
            return self._json({"url": f"{self._root()}/datasets/{repo}", "name": repo})
        if path == "/api/validate-yaml":
            return self._json({"errors": [], "warnings": []})
        return self._json({"error": f"not spoken here: {self.command} {path}"}, 404)

    def _api(  # noqa: PLR0911  # one answer a kind of question
        self, repo: str, rest: list[str], body: bytes
    ) -> None:
        if repo not in self.hub.commits:
            return self._json({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})
        verb, name = (rest[0], rest[1]) if len(rest) > 1 else ("revision", "main")
        commit = self.hub.branches[repo].get(name, name)
        if commit not in self.hub.commits[repo]:
            return self._json({"error": "Invalid rev id"}, 404, {"X-Error-Code": "RevisionNotFound"})
        files = self.hub.commits[repo][commit]
        if verb == "revision":
            return self._json(self._info(repo, commit, files))
        if verb == "tree":
            listed = [
                {"type": "file", "path": path, "size": len(data), "oid": _oid(data)}
                for path, data in files.items()
            ]
            return self._json(listed)
        if verb == "preupload":
            wanted = json.loads(body)["files"]
            return self._json(
                {
                    "files": [
                        {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in wanted
                    ]
                }
            )
        if verb == "commit":
            return self._commit(repo, name, files, body)
        return self._json({"error": f"not spoken here: {verb}"}, 404)

    def _commit(self, repo: str, branch: str, files: Mapping[str, bytes], body: bytes) -> None:
        new = dict(files)
        for line in body.decode().splitlines():
            item: dict[str, Any] = json.loads(line)
            value = item["value"]
            if item["key"] == "file":
                assert value["encoding"] == "base64"
                new[value["path"]] = base64.b64decode(value["content"])
            elif item["key"] == "deletedFile":
                new.pop(value["path"], None)
            elif item["key"] != "header":
                raise AssertionError(item["key"])
        commit = self.hub.add(repo, new, branch=branch)
        self._json(
            {
                "commitUrl": f"{self._root()}/datasets/{repo}/commit/{commit}",
                "commitOid": commit,
                "success": True,
            }
        )

    def _file(self, repo: str, revision: str, path: str) -> None:
        commits = self.hub.commits.get(repo, {})
        commit = self.hub.branches.get(repo, {}).get(revision, revision)
        if path not in commits.get(commit, {}):
            return self._json({"error": "Entry not found"}, 404, {"X-Error-Code": "EntryNotFound"})
        data = commits[commit][path]
        return self._send(
            data,
            200,
            {"X-Repo-Commit": commit, "ETag": f'"{_oid(data)}"', "Content-Type": "application/octet-stream"},
        )

    def _info(self, repo: str, commit: str, files: Mapping[str, bytes]) -> dict[str, Any]:
        return {
            "_id": "0",
            "id": repo,
            "sha": commit,
            "private": repo in self.hub.private,
            "siblings": [{"rfilename": path} for path in files],
        }

    def _root(self) -> str:
        return f"http://{self.headers['Host']}"

    def _json(self, value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self._send(
            json.dumps(value).encode(), status, {"Content-Type": "application/json", **(headers or {})}
        )

    def _send(self, data: bytes, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _oid(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@contextmanager
def serve_hub(hub: Hub) -> Iterator[str]:
    """Run the server; give its address."""
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
