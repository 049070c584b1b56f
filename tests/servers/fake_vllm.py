"""Stands in for the program `vllm`: takes its command line and serves the protocol, with no model behind it.

FAKE_VLLM=die fails at the start, =mute never listens, =fork starts a child, as vLLM does. Its first line of
output says what it was given.
"""
# ruff: noqa: T201  # a server's log is its output

import json
import os
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODE = os.environ.get("FAKE_VLLM", "")
ARGUMENTS = sys.argv[1:]


def option(name):
    return ARGUMENTS[ARGUMENTS.index(name) + 1]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    replies = 0

    def do_GET(self):
        self.send({"object": "list", "data": [{"id": option("--served-model-name"), "object": "model"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = json.dumps(body["messages"])
        Handler.replies += 1
        # One write: print() writes text and line end apart, and two threads' lines would run into each other.
        sys.stdout.write(f"reply {Handler.replies}\n")
        sys.stdout.flush()
        answer = "<think>\nseen\n</think>\n<answer>\n\\boxed{YES}\n</answer>"
        tokens = 10 + len(text) // 100 + 300 * text.count("image_url")
        self.send(
            {
                "id": "x",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}
                ],
                "usage": {"prompt_tokens": tokens, "completion_tokens": 9, "total_tokens": tokens + 9},
            }
        )

    def send(self, value):
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 256


print(
    json.dumps({"argv": ARGUMENTS, "gpus": os.environ.get("CUDA_VISIBLE_DEVICES"), "pid": os.getpid()}),
    flush=True,
)
if MODE == "die":
    print("ValueError: the model does not fit", flush=True)
    sys.exit(3)
if MODE == "mute":
    time.sleep(600)
if MODE == "fork":
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    print(json.dumps({"child": child.pid}), flush=True)
Server((option("--host"), int(option("--port"))), Handler).serve_forever()
