"""vLLM servers: the command line, the start, the end. A stand-in for `vllm` speaks the protocol; vLLM was not run."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from specvi_agents.messages import Message, ModelError, Reply
from specvi_agents.models.chat_template import hermes_template
from specvi_agents.models.checkpoint import Checkpoint
from specvi_agents.models.vllm import Replica, VllmModel, create, place
from specvi_agents.models.vllm_server import (
    LaunchOptions,
    command_line,
    gpu_groups,
    start_servers,
    stop_servers,
)
from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.ask import ask
from specvi_benchmark.vetting import Outcome, VetterUnusable

FAKE = Path(__file__).parents[1] / "servers" / "fake_vllm.py"


@pytest.fixture
def fake_vllm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Put the stand-in on the path under the name vllm."""
    programme = tmp_path / "bin" / "vllm"
    programme.parent.mkdir()
    programme.write_text(f"#!{sys.executable}\n{FAKE.read_text()}")
    programme.chmod(0o755)
    monkeypatch.setenv("PATH", str(programme.parent), prepend=os.pathsep)
    monkeypatch.setattr("specvi_agents.models.vllm_server._LOOK_S", 0.1)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("FAKE_VLLM", raising=False)
    monkeypatch.setenv("SPECVI_HOME", str(tmp_path / "home"))
    return str(programme)


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    """Return a folder that looks like Qwen2.5-VL as released: its chat template knows no tools."""
    folder = tmp_path / "qwen"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen2_5_vl", "vision_config": {}}))
    (folder / "chat_template.json").write_text(json.dumps({"chat_template": "{{ messages }}"}))
    return folder


def checkpoint(folder: Path) -> Checkpoint:
    return Checkpoint(
        str(folder), folder, {"folder": "x", "sha256": "y"}, json.loads((folder / "config.json").read_text())
    )


def values(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def is_alive(pid: int) -> bool:
    """A zombie has ended too."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text().replace(")", " ")
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition, seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def told(log: Path) -> dict:
    """Return what a stand-in said it was given; the first line of the log is the command."""
    return json.loads(log.read_text().splitlines()[1])


def test_the_command_line_has_what_an_inspection_needs(model_folder: Path) -> None:
    options = LaunchOptions(
        tensor_parallel=2, pictures=9, max_model_len=32768, arguments=("--quantization", "fp8")
    )
    command = command_line(checkpoint(model_folder), options, 8123, "/bin/vllm")
    assert command[:3] == ["/bin/vllm", "serve", str(model_folder)]
    assert values(command, "--port") == "8123"
    assert values(command, "--host") == "127.0.0.1"
    assert json.loads(values(command, "--limit-mm-per-prompt")) == {"image": 9, "video": 0}
    assert "--enable-auto-tool-choice" in command
    assert values(command, "--tool-call-parser") == "hermes"
    assert "--enable-prefix-caching" in command
    assert values(command, "--generation-config") == "vllm"
    assert values(command, "--tensor-parallel-size") == "2"
    assert values(command, "--max-model-len") == "32768"
    assert command[-2:] == ["--quantization", "fp8"]
    template = Path(values(command, "--chat-template"))
    assert template.read_text(encoding="utf-8") == hermes_template()
    assert values(command, "--chat-template-content-format") == "openai"


@pytest.mark.parametrize("name", ["chat_template.jinja", "chat_template.json", "tokenizer_config.json"])
def test_a_template_that_knows_tools_is_left_alone(model_folder: Path, name: str) -> None:
    template = "{% if tools %}{{ tools }}{% endif %}"
    (model_folder / "chat_template.json").unlink()
    (model_folder / name).write_text(
        template if name.endswith("jinja") else json.dumps({"chat_template": template})
    )
    assert "--chat-template" not in command_line(checkpoint(model_folder), LaunchOptions(), 1, "vllm")


def test_a_model_of_another_family_keeps_its_template(model_folder: Path) -> None:
    (model_folder / "config.json").write_text(json.dumps({"model_type": "gemma3", "vision_config": {}}))
    assert "--chat-template" not in command_line(checkpoint(model_folder), LaunchOptions(), 1, "vllm")


@pytest.mark.parametrize(
    ("replicas", "parallel", "visible", "groups"),
    [
        (1, 4, None, [None]),
        (1, 1, "3", ["3"]),
        (8, 1, None, [str(number) for number in range(8)]),
        (2, 2, "4,5,6,7", ["4,5", "6,7"]),
        (2, 1, "GPU-a,GPU-b,GPU-c", ["GPU-a", "GPU-b"]),
    ],
)
def test_each_server_has_gpus_of_its_own(
    monkeypatch: pytest.MonkeyPatch, replicas: int, parallel: int, visible: str | None, groups: list
) -> None:
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpu_groups(LaunchOptions(replicas=replicas, tensor_parallel=parallel)) == groups


def test_too_few_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2")
    with pytest.raises(UserError, match="too few GPUs"):
        gpu_groups(LaunchOptions(replicas=2, tensor_parallel=2))


def test_servers_start_answer_and_end(fake_vllm: str, model_folder: Path, tmp_path: Path) -> None:
    options = LaunchOptions(replicas=2, logs=tmp_path / "logs")

    async def live() -> list[int]:
        servers = await start_servers(checkpoint(model_folder), options, fake_vllm)
        assert all(server.is_running for server in servers)
        assert len({server.port for server in servers}) == 2
        pids = [told(server.log)["pid"] for server in servers]
        assert all(is_alive(pid) for pid in pids)
        await stop_servers(servers)
        return pids

    pids = asyncio.run(live())
    assert not any(is_alive(pid) for pid in pids)
    logs = sorted((tmp_path / "logs").glob("server-*.log"))
    assert [told(log)["gpus"] for log in logs] == ["0", "1"]
    assert logs[0].read_text().startswith(f"{fake_vllm} serve {model_folder}")


@pytest.mark.parametrize(("mode", "said"), [("die", "the model does not fit"), ("mute", "no answer within")])
def test_a_server_that_does_not_start_is_told_with_its_last_words(
    fake_vllm: str, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, said: str
) -> None:
    monkeypatch.setenv("FAKE_VLLM", mode)
    options = LaunchOptions(startup_s=20 if mode == "die" else 1.5, logs=tmp_path / "logs")
    with pytest.raises(VetterUnusable, match="did not start") as caught:
        asyncio.run(start_servers(checkpoint(model_folder), options, fake_vllm))
    assert said in str(caught.value)
    assert "server-0" in str(caught.value)
    log = next((tmp_path / "logs").glob("*.log"))
    assert not is_alive(told(log)["pid"])


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks into /proc")
def test_a_run_that_is_killed_outright_leaves_no_server(
    fake_vllm: str, model_folder: Path, tmp_path: Path
) -> None:
    """kill −9 of the run: the keeper ends the server, and what the server itself started."""
    code = (
        "import asyncio, json, sys, time\nfrom pathlib import Path\n"
        "from specvi_agents.models.checkpoint import Checkpoint\n"
        "from specvi_agents.models.vllm_server import *\n"
        f"folder = Path({str(model_folder)!r})\n"
        f"options = LaunchOptions(logs=Path({str(tmp_path / 'logs')!r}))\n"
        f"asyncio.run(start_servers(Checkpoint('m', folder, {{}}, {{}}), options, {fake_vllm!r}))\n"
        "print('ready', flush=True)\ntime.sleep(600)\n"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env=os.environ | {"FAKE_VLLM": "fork"}
    )
    try:
        assert run.stdout is not None
        assert run.stdout.readline() == b"ready\n"
        log = next((tmp_path / "logs").glob("*.log"))
        pids = [told(log)["pid"], json.loads(log.read_text().splitlines()[2])["child"]]
        assert all(is_alive(pid) for pid in pids)
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
        run.stdout.close()
    assert wait_until(lambda: not any(is_alive(pid) for pid in pids))


def test_a_run_that_is_stopped_while_servers_load_leaves_none(
    fake_vllm: str, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_split
) -> None:
    monkeypatch.setenv("FAKE_VLLM", "mute")
    vetter = create(str(model_folder), {"logs": str(tmp_path / "logs")})

    def log_is_told() -> bool:
        return any(len(log.read_text().splitlines()) > 1 for log in (tmp_path / "logs").glob("*.log"))

    async def interrupted() -> None:
        task = asyncio.create_task(vetter.vet_one(make_split(1).candidates[0].question))
        while not log_is_told():  # noqa: ASYNC110  # a file tells of no event
            await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await vetter.close()

    asyncio.run(asyncio.wait_for(interrupted(), 60))
    assert not is_alive(told(next((tmp_path / "logs").glob("*.log")))["pid"])


def test_a_whole_run_starts_asks_and_ends(
    fake_vllm: str, model_folder: Path, tmp_path: Path, make_split
) -> None:
    vetter = create(str(model_folder), {"replicas": "2", "logs": str(tmp_path / "logs")})
    questions = [candidate.question for candidate in make_split(12).candidates]
    entries: list = []
    assert ask(vetter, questions, entries.append) == 0
    assert [entry.verdict.outcome for entry in entries] == [Outcome.ANSWERED] * 12
    assert {entry.verdict.answer for entry in entries} == {"YES"}
    assert {entry.verdict.cost_usd for entry in entries} == {0.0}
    logs = sorted((tmp_path / "logs").glob("*.log"))
    assert not any(is_alive(told(log)["pid"]) for log in logs)
    replies = [log.read_text().count("\nreply ") for log in logs]
    checks = sum(replies) - 12
    assert checks % 2 == 0
    assert all(count > checks // 2 for count in replies)  # both were asked questions
    config = vetter.config["model"]
    assert config["backend"] == "vllm"
    assert config["checkpoint"]["folder"] == "qwen"
    assert "127.0.0.1" not in json.dumps(config)  # the port is of one start only
    assert create(str(model_folder), {}).config == create(str(model_folder), {"gpu_memory": "0.5"}).config


def test_a_server_that_dies_hands_its_conversations_on(model_folder: Path) -> None:
    class Dead:
        is_running = False
        log = model_folder / "log"

        def last_words(self) -> str:
            return "CUDA out of memory"

    class Model:
        config: dict = {}  # noqa: RUF012  # as the protocol has it

        def __init__(self, reply: Reply | Exception) -> None:
            self.asked = 0
            self.answer = reply

        async def reply(self, *_, **__):
            self.asked += 1
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

        async def close(self) -> None:
            pass

    good = Model(Reply("fine"))
    dead = Replica(Model(ModelError("connection refused")), Dead())
    unreachable = Replica(Model(ModelError("timeout")))
    conversations = [[Message("user", f"question {number}")] for number in range(30)]

    async def outcomes(replicas: list[Replica]) -> list:
        async def start():
            return replicas

        model = VllmModel(start, {}, in_flight=4)
        return await asyncio.gather(
            *(model.reply(one, tools=True, sample=0) for one in conversations), return_exceptions=True
        )

    assert {reply.text for reply in asyncio.run(outcomes([dead, Replica(good)]))} == {"fine"}
    mixed = Counter(type(one).__name__ for one in asyncio.run(outcomes([unreachable, Replica(good)])))
    assert set(mixed) == {"ModelError", "Reply"}  # a server that lives is not abandoned for one fault
    lost = asyncio.run(outcomes([dead, dead]))
    assert all(isinstance(one, VetterUnusable) for one in lost)
    assert "CUDA out of memory" in str(lost[0])


def test_all_turns_of_a_conversation_go_to_one_server_and_the_load_is_even() -> None:
    openings = [[Message("system", "s"), Message("user", f"question {number}")] for number in range(4000)]
    places = [place(opening, 0, 8) for opening in openings]
    longer = [[*opening, Message("assistant", "x"), Message("user", "y")] for opening in openings]
    assert [place(messages, 0, 8) for messages in longer] == places
    assert [place(opening, 1, 8) for opening in openings] != places
    counts = Counter(places)
    # 500 each; five standard deviations of a binomial count are 105.
    assert len(counts) == 8
    assert all(abs(count - 500) < 105 for count in counts.values())


def test_running_servers_are_joined_by_url_without_vllm_or_a_folder(
    fake_vllm: str, model_folder: Path, tmp_path: Path, make_split, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def start():
        served = Checkpoint("my-model", model_folder, {}, {})
        return await start_servers(served, LaunchOptions(replicas=2, logs=tmp_path / "logs"), fake_vllm)

    servers = asyncio.run(start())
    try:
        monkeypatch.setenv("PATH", "/nowhere")
        urls = ",".join(server.base_url for server in servers)
        vetter = create("my-model", {"base_url": urls, "cache": "off"})
        entries: list = []
        ask(vetter, [candidate.question for candidate in make_split(8).candidates], entries.append)
        assert [entry.verdict.answer for entry in entries] == ["YES"] * 8
        assert vetter.config["model"]["base_url"] == urls.split(",")
        assert all(server.is_running for server in servers)  # not ours to end
    finally:
        asyncio.run(stop_servers(servers))


@pytest.mark.parametrize(
    ("argument", "options", "said"),
    [
        ("m", {"base_url": "http://localhost:1/v1", "replicas": "2"}, "can't be set up"),
        ("m", {"base_url": "http://localhost:1/v1", "revision": "main"}, "can't be set up"),
        (None, {"base_url": "http://localhost:1/v1"}, "no model is named"),
        ("m", {"replica": "2"}, "no such option"),
        ("m", {"replicas": "none"}, "replicas"),
        ("m", {"gpu_memory": "2"}, "gpu_memory"),
    ],
)
def test_options_are_checked(fake_vllm: str, argument: str | None, options: dict, said: str) -> None:
    with pytest.raises(UserError, match=said):
        create(argument, options)


def test_without_vllm_the_message_says_both_ways_out(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("vllm", path=str(Path(sys.executable).parent)):
        pytest.skip("vllm is installed")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match="no vLLM") as caught:
        create(str(model_folder), {})
    assert "specvi-bench[vllm]" in str(caught.value)
    assert "base_url" in str(caught.value)
