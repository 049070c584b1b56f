"""Drafting: train candidates only, nothing lost or made twice, and what a teacher is told is never recorded."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from chat_server import inspector, serving
from trajectory_kit import GOOD, Saying, folder_of, inspect, stars

from specvi_agents.agent import AgentVetter
from specvi_agents.environment import EnvironmentOptions
from specvi_agents.local_server import Request, Response
from specvi_agents.messages import ModelError, Reply
from specvi_agents.models.openai import create
from specvi_agents.options import AgentOptions
from specvi_agents.scripted import Scripted
from specvi_agents.trajectories import Store, read, to_messages
from specvi_agents.trajectories.drafting import choose, draft
from specvi_agents.trajectories.guidance import Guidance, guided
from specvi_agents.trajectories.screening import funnel, screen_all
from specvi_baselines.constants import always_yes
from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.budget import Limits
from specvi_benchmark.runs.record import SplitReference
from specvi_benchmark.splits import Split
from specvi_benchmark.vetting import AnyVetter

RUN = Path(__file__).with_name("trajectories_run.py")


def reference(split: Split) -> SplitReference:
    return SplitReference(
        name=split.name, version="1", path="stars", part="train", task=None, fingerprint="0"
    )


def drafted(teacher: AnyVetter, split: Split, folder: Path, spec: str = "teacher", **more: Any) -> Any:
    return draft(teacher, spec, choose(split, None), reference(split), folder, **more)


@pytest.mark.parametrize("part", ["test", "dev", "cal"])
def test_only_train_candidates_are_drafted_from(part: str) -> None:
    with pytest.raises(UserError, match="train candidates only"):
        choose(stars(2, part=part), None)


def test_a_larger_number_takes_the_same_candidates_and_more() -> None:
    few, more = choose(stars(9), 3), choose(stars(9), 5)
    assert [candidate.id for candidate in more][:3] == [candidate.id for candidate in few]
    assert len(more) == 5
    assert choose(Split("x", "1", tuple(reversed(stars(9).candidates)), {}), 5)[0].id == more[0].id


def test_a_folder_grows_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    split = stars(6)
    first = Saying(GOOD)
    done = draft(AgentVetter(first), "teacher", choose(split, 2), reference(split), tmp_path)
    assert (done.done, done.total, len(first.sent)) == (2, 2, 6)
    before = (tmp_path / "trajectories.jsonl").read_bytes()
    second = Saying(GOOD)
    done = draft(AgentVetter(second), "teacher", choose(split, 6), reference(split), tmp_path)
    assert (done.done, done.total, len(second.sent)) == (6, 6, 12)
    assert (tmp_path / "trajectories.jsonl").read_bytes().startswith(before)
    assert {item.id for item in read(tmp_path)} == {candidate.id for candidate in split.candidates}


class Faltering(Saying):
    """A model that gives no reply to every other question, the first time."""

    def __init__(self, replies: Sequence[str | Reply]) -> None:
        super().__init__(replies)
        self.asked = 0

    async def reply(self, messages: Any, **more: object) -> Reply:
        self.asked += 1
        if self.asked % 2:
            raise ModelError("the server is gone")
        return await super().reply(messages, **more)


def test_an_inspection_that_broke_off_is_not_kept_and_made_again(tmp_path: Path) -> None:
    done = drafted(AgentVetter(Faltering(GOOD)), stars(4), tmp_path)
    kept = len(list(read(tmp_path)))
    assert done.done == kept < 4
    assert done.counts["error"] == 4 - kept
    drafted(AgentVetter(Saying(GOOD)), stars(4), tmp_path)
    assert len(list(read(tmp_path))) == 4


def test_another_teacher_is_refused_in_the_same_folder(tmp_path: Path) -> None:
    drafted(AgentVetter(Saying(GOOD)), stars(1), tmp_path)
    with pytest.raises(UserError, match="another run"):
        drafted(Scripted(), stars(1), tmp_path, "scripted")
    folder_of(tmp_path / "made", [inspect(GOOD)])
    with pytest.raises(UserError, match="not drafted"):
        drafted(Scripted(), stars(1), tmp_path / "made", "scripted")


def test_a_system_that_does_not_inspect_is_no_teacher(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no inspection to learn from"):
        drafted(always_yes(None, {}), stars(1), tmp_path / "one")
    several = AgentVetter(Saying(GOOD), AgentOptions(votes=2))
    with pytest.raises(UserError, match="no inspection to learn from"):
        drafted(several, stars(1), tmp_path / "two")


def test_a_limit_in_dollars_counts_earlier_calls(tmp_path: Path) -> None:
    priced = [Reply(text, cost_usd=0.5) for text in GOOD]  # 1.50 an inspection

    def teacher() -> AgentVetter:
        model = Saying(priced)
        model.in_flight, model.expected_usd = 1, 1.5  # type: ignore[attr-defined]
        return AgentVetter(model)

    done = drafted(teacher(), stars(9), tmp_path, limits=Limits(max_usd=3.2))
    assert done.done == 2
    assert done.stopped_by
    assert drafted(teacher(), stars(9), tmp_path, limits=Limits(max_usd=3.2)).done == 2
    assert drafted(teacher(), stars(9), tmp_path, limits=Limits(max_usd=4.6)).done == 3


SECRET = "The answer that catalogues give is YES"


@pytest.mark.parametrize("prompt", ["guideline", "official"])
def test_what_the_teacher_is_told_is_sent_and_never_recorded(tmp_path: Path, prompt: Any) -> None:
    split = stars(1)
    seeds = folder_of(
        tmp_path / "seeds", [inspect((GOOD[0], GOOD[1].replace("Now", "A seed says: now"), GOOD[2]))]
    )
    options = AgentOptions(EnvironmentOptions(prompt=prompt))
    told, plain = Saying(GOOD), Saying(GOOD)
    guidance = Guidance(tells_answer=True, tells_guideline=True, seeds=tuple(seeds.trajectories().values()))
    truths = {candidate.id: candidate.truth for candidate in split.candidates}
    teacher = guided(AgentVetter(told, options), "saying", guidance, truths)
    drafted(teacher, split, tmp_path / "told")
    drafted(AgentVetter(plain, options), split, tmp_path / "plain")
    for number, sent in enumerate(told.sent):
        assert SECRET in sent[0].text
        assert "A seed says" in sent[0].text
        assert sent[0].role == "system"
        assert sent[1:] == plain.sent[number][1:]
    for with_words, without in zip(read(tmp_path / "told"), read(tmp_path / "plain"), strict=True):
        assert to_messages(with_words) == to_messages(without)
    files = [path for path in (tmp_path / "told").rglob("*") if path.is_file() and path.suffix != ".png"]
    assert not any(
        b"catalogues give" in path.read_bytes() or b"A seed says" in path.read_bytes() for path in files
    )
    config = json.loads((tmp_path / "told" / "run.json").read_text())["config"]
    assert config["guidance"]["answer"] is True
    assert list(config["guidance"]["seeds"]) == ["star-0"]


def test_each_question_is_told_its_own_answer_though_many_are_asked_at_a_time(tmp_path: Path) -> None:
    split = stars(8)
    truths = {
        candidate.id: "YES" if number % 2 else "NO" for number, candidate in enumerate(split.candidates)
    }
    model = Saying(GOOD)
    seen: list[tuple[str, str]] = []

    class Listening(Saying):
        async def reply(self, messages: Any, **more: object) -> Reply:
            seen.append(
                (messages[-1].role, messages[0].text.partition("catalogues give is ")[2][:3].strip(". "))
            )
            return await model.reply(messages, **more)

    teacher = guided(AgentVetter(Listening(GOOD)), "saying", Guidance(tells_answer=True), truths)
    drafted(teacher, split, tmp_path)
    assert Counter(truth for _, truth in seen) == {"YES": 12, "NO": 12}  # three turns each


def test_a_teacher_without_a_model_can_be_told_nothing() -> None:
    with pytest.raises(UserError, match="can't be told anything"):
        guided(Scripted(), "scripted", Guidance(tells_answer=True), {})
    assert guided(Scripted(), "scripted", Guidance(), {}) == Scripted()


def test_seeds_of_another_task_are_told(tmp_path: Path) -> None:
    seeds = folder_of(tmp_path / "seeds", [inspect(GOOD)], task="wd")
    guidance = Guidance(seeds=tuple(seeds.trajectories().values()))
    with pytest.raises(UserError, match="no seed example of this task"):
        guidance.words(stars(1).candidates[0].question, "YES", {})


def test_the_funnel_counts_what_each_check_lets_through(tmp_path: Path) -> None:
    wrong = (GOOD[0], GOOD[1], GOOD[2].replace("YES", "NO"))
    bare = (GOOD[0], GOOD[1], GOOD[2].replace("<answer>", ""))
    both = (GOOD[0], GOOD[1], wrong[2].replace("<answer>", ""))
    store = folder_of(tmp_path / "made", [inspect(one) for one in (GOOD, GOOD, wrong, bare, both)])
    questions = {f"star-{n}": stars(5).candidates[n].question for n in range(5)}
    assert screen_all(store, questions) == 5
    assert screen_all(store, questions) == 0
    cv, every = funnel(store.trajectories().values())
    assert (cv.task, every.task, cv.drafted, cv.passed) == ("cv", "all", 5, 2)
    steps = {step.check: (step.passed, step.failed, step.failed_in_all) for step in cv.steps}
    assert steps["answer"] == (3, 2, 2)
    assert steps["format"] == (2, 1, 2)
    assert steps["evidence"] == (2, 0, 0)
    assert cv.rate.value == 0.4
    assert cv.rate.low is not None
    assert cv.rate.high is not None
    assert cv.rate.low < 0.4 < cv.rate.high
    states = [item.state for item in store.trajectories().values()]
    assert states == ["screened", "screened", "rejected", "rejected", "rejected"]
    assert set(store.find("star-4").faults) == {"answer", "format"}


@pytest.mark.slow
def test_killed_at_random_moments_every_candidate_is_inspected_and_screened_once(tmp_path: Path) -> None:
    folder, rng, count, kills = tmp_path / "made", random.Random(3), 60, 0
    surroundings = {**os.environ, "SPECVI_HOME": str(tmp_path / "home"), "OMP_NUM_THREADS": "1"}
    surroundings["PYTHONPATH"] = str(Path(__file__).parents[1] / "servers")
    log = folder / "trajectories.jsonl"

    def lines(path: Path) -> int:
        return path.read_bytes().count(b"\n") if path.exists() else 0

    finished = False
    while not finished:
        command = [sys.executable, str(RUN), str(folder), str(count)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=surroundings) as process:
            assert process.stdout is not None
            process.stdout.readline()
            if kills < 3:
                path, until = (log, rng.randrange(5, 25)) if kills < 2 else (folder / "changes.jsonl", 15)
                goal = min(count - 1, lines(path) + until)
                while lines(path) < goal and process.poll() is None:
                    time.sleep(0.005)
                time.sleep(rng.uniform(0, 0.03))
                os.kill(process.pid, signal.SIGKILL)
            finished = process.wait() == 0
        kills += not finished
    assert kills == 3
    ids = Counter(json.loads(line)["id"] for line in log.read_text().splitlines())
    assert ids == Counter(f"star-{number}" for number in range(count))
    screened = Counter(json.loads(line)["id"] for line in (folder / "changes.jsonl").read_text().splitlines())
    assert screened == ids
    for item in Store(folder).trajectories().values():
        for view in (view for turn in item.trace.turns for view in turn.views):
            assert sha256(item.png(view.png_sha256)).hexdigest() == view.png_sha256


def test_a_teacher_behind_a_server_is_told_and_kept_as_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words go out in every request; the folder has neither them nor the key."""
    monkeypatch.setenv("SPECVI_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    bodies: list[bytes] = []

    def listening(request: Request) -> Response:
        bodies.append(request.body)
        return inspector(request)

    split = stars(5)
    truths = {candidate.id: candidate.truth for candidate in split.candidates}
    with serving(listening) as url:
        agent = create("echo", {"base_url": url, "backoff_s": "0.005"})
        teacher = guided(agent, "openai:echo", Guidance(tells_answer=True), truths)
        done = drafted(teacher, split, tmp_path / "made", "openai:echo")
    assert done.done == 5
    asked = [
        body for body in bodies if b"Is this object a cataclysmic variable?" in body
    ]  # others try the server
    assert len(asked) >= 3  # these stars look alike, and replies are kept
    assert all(SECRET.encode() in body for body in asked)
    kept = b"".join(path.read_bytes() for path in (tmp_path / "made").iterdir() if path.is_file())
    assert b"catalogues give" not in kept
    assert b"sk-planted" not in kept
    for item in read(tmp_path / "made"):
        row = to_messages(item)
        roles = [message["role"] for message in row["messages"]]
        assert roles == ["system", "user", "assistant", "tool", "assistant", "tool", "assistant"]
        assert "<tool_call>" in row["messages"][2]["content"][0]["text"]
        assert "<tools>" in row["messages"][0]["content"][0]["text"]
