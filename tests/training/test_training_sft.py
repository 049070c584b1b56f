"""An SFT from configuration to model folder: what moves and what does not, resume to the last bit, dev, the card."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("trl", reason="trl is not installed")

from safetensors.torch import load_file  # noqa: E402
from trajectory_kit import GOOD, folder_of, inspect, record  # noqa: E402

from specvi_agents.models.checkpoint import find_checkpoint  # noqa: E402
from specvi_agents.models.transformers import create  # noqa: E402
from specvi_agents.trajectories import Store  # noqa: E402
from specvi_benchmark.errors import UserError  # noqa: E402
from specvi_benchmark.files import validate  # noqa: E402
from specvi_benchmark.runs.ask import ask  # noqa: E402
from specvi_benchmark.splits import Split  # noqa: E402
from specvi_benchmark.splits.io import write_split  # noqa: E402
from specvi_training.conversation import encode  # noqa: E402
from specvi_training.folder import TrainFolder, read_train_record  # noqa: E402
from specvi_training.model import load_base  # noqa: E402
from specvi_training.sft.config import DataPart, SftConfig  # noqa: E402
from specvi_training.sft.data import read_lessons, refuse_one_sided  # noqa: E402
from specvi_training.sft.train import train  # noqa: E402

Config = Callable[..., SftConfig]


class Killed(BaseException):
    """Ends a training where it stands, as a kill would."""


@pytest.fixture(scope="module")
def config(make_split, draft_lessons) -> Config:
    """Return a maker of small trainings on six trajectories: eight steps, a checkpoint every other one."""
    folder = draft_lessons(make_split(6, part="train"), prompt="official")

    def make(**parts: Any) -> SftConfig:
        content = {
            "model": {"tiny": {"hidden_size": 32, "vision_hidden_size": 32, "layers": 1}, "trained": "all"},
            "inspection": {"prompt": "official"},
            "data": {
                "trajectories": [str(folder)],
                "at_least": "draft",
                "one_sided": True,
            },  # the script says NO
            "epochs": 4,
            "optimiser": {
                "learning_rate": 1e-2,
                "batch_per_device": 3,
                "precision": "fp32",
                "checkpointing": False,
            },
            "kept": {"every": 2, "log_every": 1},
        }
        for key, value in parts.items():
            content[key] = (
                {**content[key], **value} if isinstance(content.get(key), dict) and value else value
            )
        return validate(SftConfig, content, "test")

    return make


@pytest.fixture(scope="module")
def trained(config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a training of everything, done. Tests read it and leave it as it is."""
    out = tmp_path_factory.mktemp("trained") / "out"
    train(config(note="A test of the code."), out)
    return out


@pytest.fixture
def dev(make_split, tmp_path: Path) -> Path:
    """Return the folder of a split of four dev candidates whose objects are in no trajectory."""
    split = make_split(4, part="dev")
    others = tuple(
        replace(
            c,
            id=f"dev-{c.id}",
            object_id=f"dev-{c.object_id}",
            spectrum=replace(c.spectrum, name=f"dev-{c.spectrum.name}"),
        )
        for c in split.candidates
    )
    write_split(Split("dev", "1", others, {}), tmp_path / "dev-split")
    return tmp_path / "dev-split"


def weights(folder: Path) -> dict[str, Any]:
    return load_file(folder / "model.safetensors")


def moved(before: Path, after: Path) -> dict[str, bool]:
    old, new = weights(before), weights(after)
    assert old.keys() == new.keys()
    return {name: not torch.equal(old[name], new[name]) for name in old}


@pytest.mark.parametrize(("weight", "batch", "passes"), [(1, 6, 1), (30, 6, 1), (30, 2, 3), (0, 4, 2)])
def test_the_answers_word_weighs_what_it_is_told_to(
    config: Config, make_split, draft_lessons, tmp_path: Path, weight: int, batch: int, passes: int
) -> None:
    """The loss of one step over all rows, worked out from the base: nll summed by weight, over all trained tokens."""
    folders = [
        draft_lessons(make_split(4, "cv", "train"), "one-zoom", prompt="official"),
        draft_lessons(make_split(2, "mg", "train"), "two-zooms", prompt="official", zooms="2"),
    ]
    told = config(
        answer_weight=weight,
        epochs=1,
        data={"trajectories": [str(folder) for folder in folders]},
        optimiser={"batch_per_device": batch, "accumulation": passes, "beta2": 0.95},
        kept={"every": 1},
    )
    train(told, tmp_path / "out")
    folder = TrainFolder(tmp_path / "out")
    base = load_base(find_checkpoint(str(folder.base), "base"), dtype="float32")
    lessons = read_lessons(told.data)
    total, count, right, lengths = 0.0, 0, 0, set()
    for lesson in lessons:
        row = encode(base.chat, lesson, tools=False)
        with torch.no_grad():
            logits = base.model(**row.inputs).logits[0, :-1].log_softmax(-1)
        kept = row.labels[1:] >= 0
        ids = row.labels[1:][kept]
        nll = -logits[kept].gather(1, ids[:, None])[:, 0]
        pieces = [base.chat.tokenizer.decode([token]) for token in ids]
        first = "".join(pieces).rindex("boxed{") + len("boxed{")
        last = "".join(pieces).index("}", first)
        place = 0
        for piece, value in zip(pieces, nll.tolist(), strict=True):
            total += value * (weight if place < last and place + len(piece) > first else 1)
            place += len(piece)
        count += len(pieces)
        right += int((logits[kept].argmax(-1) == ids).sum())
        lengths.add(len(pieces))
    assert len(lengths) > 1  # so that a mean of means would show
    (line,) = folder.lines()
    assert line["loss"] == pytest.approx(total / count, rel=1e-4)
    if passes == 1:  # TRL's is a mean of the passes' means
        assert line["mean_token_accuracy"] == pytest.approx(right / count)
    kept_optimiser = torch.load(folder.checkpoints / "checkpoint-1" / "optimizer.pt", weights_only=True)
    assert {group["betas"] for group in kept_optimiser["param_groups"]} == {(0.9, 0.95)}


def test_language_alone_is_trained_where_the_paper_says_so(config: Config, tmp_path: Path) -> None:
    out = tmp_path / "out"
    record = train(config(model={"trained": "language"}), out)
    changed = moved(out / "base", out / "model")
    visual = {name for name in changed if "visual" in name}
    assert any("merger" in name for name in visual)  # the projector
    assert not any(changed[name] for name in visual)
    assert all(moving for name, moving in changed.items() if name not in visual)
    trained = sum(tensor.numel() for name, tensor in weights(out / "model").items() if name not in visual)
    assert record.outcome["trained_weights"] == trained


def test_the_last_steps_are_logged_though_they_fill_no_line(
    config: Config, trained: Path, tmp_path: Path
) -> None:
    """Eight steps, a line after every third: the last line is of the seventh and the eighth."""
    told = []
    train(config(note="A test of the code.", kept={"log_every": 3}), tmp_path / "out", told.append)
    each = [line["loss"] for line in TrainFolder(trained).lines()]
    means = [sum(each[a:b]) / (b - a) for a, b in ((0, 3), (3, 6), (6, 8))]
    assert [line["step"] for line in told] == [3, 6, 8]
    assert [line["loss"] for line in told] == pytest.approx(means, rel=1e-6)


def test_everything_is_trained_where_asked_and_the_loss_falls(trained: Path) -> None:
    assert all(moved(trained / "base", trained / "model").values())
    losses = [line["loss"] for line in TrainFolder(trained).lines() if "loss" in line]
    assert len(losses) == 8
    assert losses[-1] < 0.9 * losses[0]


def test_adapters_are_merged_into_weights_that_load_anywhere(config: Config, tmp_path: Path) -> None:
    out = tmp_path / "out"
    record = train(config(model={"trained": "language", "lora": {"rank": 4, "alpha": 8}}), out)
    changed = moved(out / "base", out / "model")
    layers = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    adapted = {
        name
        for name in changed
        if "visual" not in name and name.endswith(tuple(f"{x}.weight" for x in layers))
    }
    assert len(adapted) == 7
    assert {name for name, moving in changed.items() if moving} == adapted
    assert record.outcome["trained_weights"] < 0.1 * record.outcome["weights"]
    assert not (out / "model" / "adapter_config.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [{"trained": "all"}, {"trained": "language", "lora": {"rank": 4}}], ids=["full", "lora"]
)
def test_a_killed_training_ends_in_the_same_weights(config: Config, dev: Path, tmp_path: Path, model) -> None:
    """Killed after step 5, with a half-written checkpoint: on from step 4, to the last bit and the same log."""
    told = config(model=model, dev={"split": str(dev), "max_tokens": 6, "patience": 9})
    train(told, tmp_path / "whole")

    def kill(line: Any) -> None:
        if line["step"] == 5:
            raise Killed

    with pytest.raises(Killed):
        train(told, tmp_path / "killed", kill)
    folder = TrainFolder(tmp_path / "killed")
    assert read_train_record(folder.path).ended is None
    shutil.copytree(folder.checkpoints / "checkpoint-4", folder.checkpoints / "checkpoint-6")
    (folder.checkpoints / "checkpoint-6" / "trainer_state.json").write_text('{"global_st')
    train(told, folder.path)
    assert not any(moved(tmp_path / "whole" / "model", folder.model).values())
    file = "adapter_model.safetensors" if "lora" in model else "model.safetensors"
    first, last, again = (
        load_file(path / "checkpoints" / f"checkpoint-{step}" / file)
        for path, step in ((tmp_path / "whole", 2), (tmp_path / "whole", 8), (folder.path, 8))
    )
    assert all(torch.equal(last[name], again[name]) for name in last)
    assert any(not torch.equal(first[name], last[name]) for name in first)
    if "lora" not in model:  # the first score was the best: the model is that of step 2
        result = weights(folder.model)
        assert all(torch.equal(first[name], result[name]) for name in first)
    assert folder.lines() == TrainFolder(tmp_path / "whole").lines()
    assert [line["step"] for line in folder.lines() if "dev" in line] == [2, 4, 6, 8]


def test_a_finished_training_is_taken_as_it_is(config: Config, trained: Path) -> None:
    before = (trained / "model" / "model.safetensors").stat().st_mtime_ns
    assert train(config(note="A test of the code."), trained) == read_train_record(trained)
    assert (trained / "model" / "model.safetensors").stat().st_mtime_ns == before


def test_a_finished_training_keeps_its_log_without_its_checkpoints(
    config: Config, trained: Path, tmp_path: Path
) -> None:
    again = shutil.copytree(trained, tmp_path / "again")
    shutil.rmtree(again / "checkpoints")
    assert train(config(note="A test of the code."), again) == read_train_record(trained)
    assert len(TrainFolder(again).lines()) == 8
    assert (again / "log.jsonl").read_bytes() == (trained / "log.jsonl").read_bytes()


def test_a_model_that_is_gone_is_made_again(config: Config, trained: Path, tmp_path: Path) -> None:
    again = shutil.copytree(trained, tmp_path / "again")
    shutil.rmtree(again / "model")
    record = train(config(note="A test of the code."), again)
    assert record == read_train_record(again)
    assert record.outcome == read_train_record(trained).outcome
    assert not any(moved(trained / "model", again / "model").values())
    assert TrainFolder(again).lines() == TrainFolder(trained).lines()


def test_a_kill_before_the_record_stands_in_nobodys_way(
    config: Config, trained: Path, tmp_path: Path
) -> None:
    """As it leaves the folder in the middle of building the base, or of writing ``train.json``."""
    (tmp_path / ".base.tmp").mkdir()
    (tmp_path / ".base.tmp" / "config.json").write_text("{")
    (tmp_path / ".train.json.k3v9.tmp").write_text('{"schema')
    train(config(note="A test of the code."), tmp_path)
    assert not any(moved(trained / "model", tmp_path / "model").values())
    assert not (tmp_path / ".base.tmp").exists()


def test_a_model_is_no_folder_to_train_in(config: Config, trained: Path) -> None:
    before = sorted((trained / "model").rglob("*"))
    with pytest.raises(UserError, match="a trained model, not the folder of a training"):
        train(config(note="A test of the code."), trained / "model")
    assert sorted((trained / "model").rglob("*")) == before


def test_another_training_in_the_folder_is_refused(config: Config, trained: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="another training") as error:
        train(config(note="A test of the code.", seed=1), trained)
    assert "config.seed" in str(error.value)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    with pytest.raises(UserError, match="not empty"):
        train(config(), tmp_path / "full")
    with pytest.raises(UserError, match="not a folder"):
        train(config(), tmp_path / "full" / "thesis.tex")


def test_it_ends_when_dev_gets_no_better_and_keeps_the_best(
    config: Config, dev: Path, tmp_path: Path
) -> None:
    """At learning rate 1e-9 nothing changes: the first score is the best, and patience 2 ends it at step 6."""
    told = config(
        optimiser={"learning_rate": 1e-9}, dev={"split": str(dev), "max_tokens": 4, "patience": 2}, epochs=40
    )
    record = train(told, tmp_path / "out")
    assert record.outcome["steps"] == 6
    assert record.outcome["best_step"] == 2
    card = (tmp_path / "out" / "model" / "README.md").read_text()
    assert "best score on dev chose the checkpoint, so it flatters" in card
    lines = [line["dev"] for line in TrainFolder(tmp_path / "out").lines() if "dev" in line]
    assert len(lines) == 3
    assert all(line["f1"] == 0 and line["answered"] == 0 for line in lines)  # noise answers nothing


def test_the_model_runs_in_the_harness_and_carries_its_card(trained: Path, make_split) -> None:
    out = trained
    entries: list[Any] = []
    vetter = create(str(out / "model"), {"prompt": "official", "max_tokens": "4", "device": "cpu"})
    assert ask(vetter, [c.question for c in make_split(2).candidates], entries.append) == 0
    assert len(entries) == 2
    card = (out / "model" / "README.md").read_text()
    record = json.loads((out / "model" / "train.json").read_text())
    assert "**A test of the code.**" in card
    assert record["data"]["fingerprint"] in card
    assert "--option prompt=official" in card
    assert str(trained) not in card
    assert "it is the last one" in card
    assert "flatters" not in card  # no dev, so no score that could
    # What vLLM reads of a folder: weights, configuration, tokenizer, processor with its code, template.
    names = {path.name for path in (out / "model").iterdir()}
    assert {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "processor_config.json",
        "chat_template.jinja",
        "image_only.py",
    } <= names
    assert not [name for name in names if name.endswith((".bin", ".pt", ".pkl"))]


def test_objects_learnt_from_are_not_watched_on(config: Config, make_split, tmp_path: Path) -> None:
    write_split(make_split(4, part="dev"), tmp_path / "same")
    with pytest.raises(UserError, match="both learnt from and watched on") as error:
        train(config(dev={"split": str(tmp_path / "same")}), tmp_path / "out")
    assert "object-0" in str(error.value)


def test_other_pictures_than_it_is_asked_with_are_refused(config: Config, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="other settings than the model will be asked with"):
        train(config(inspection={"prompt": "official", "style": "spec-o3"}), tmp_path / "out")


def test_nothing_accepted_is_nothing_to_learn_from(config: Config, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing to learn from") as error:
        train(config(data={"at_least": "accepted"}), tmp_path / "out")
    assert "at least accepted" in str(error.value)


def test_no_lesson_is_learnt_twice(config: Config, tmp_path: Path) -> None:
    """The same folder by another name, and a copy of it; the same star inspected otherwise is another lesson."""
    folder_of(tmp_path / "one", [inspect(GOOD), inspect(tuple(map(no, GOOD)))])
    shutil.copytree(tmp_path / "one", tmp_path / "copy")
    folder_of(tmp_path / "other", [inspect([f"{GOOD[0]} ", *GOOD[1:]])])
    for second in ("one/../one", "copy"):
        with pytest.raises(UserError, match="learnt twice") as error:
            read_lessons(DataPart(trajectories=(f"{tmp_path}/one", f"{tmp_path}/{second}"), at_least="draft"))
        assert "got: star-0, star-1\n" in str(error.value)
    both = read_lessons(DataPart(trajectories=(f"{tmp_path}/one", f"{tmp_path}/other"), at_least="draft"))
    assert [lesson.id for lesson in both] == ["star-0", "star-1", "star-0"]


def test_two_trainings_do_not_share_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with (
        TrainFolder(folder).held(),
        pytest.raises(UserError, match="another process is training in this folder"),
        TrainFolder(folder).held(),
    ):
        pass
    with TrainFolder(folder).held():
        pass


def test_one_answer_only_is_not_taught_unasked(config: Config, make_split, tmp_path: Path) -> None:
    """The script says NO to every one of these stars, which are YES and NO by turns."""
    with pytest.raises(UserError, match="with one answer only") as error:
        train(config(data={"one_sided": False}), tmp_path / "out")
    said_no = sum(candidate.truth == "NO" for candidate in make_split(6, part="train").candidates)
    assert 0 < said_no < 6
    assert f"cv: 0 rightly YES, {said_no} rightly NO" in str(error.value)
    assert "data.one_sided: true" in str(error.value)
    assert not (tmp_path / "out").exists()


def no(text: str) -> str:
    return text.replace("{YES}", "{NO}")


@pytest.mark.parametrize(
    ("lessons", "refused"),
    [
        ({"cv": ["YES YES", "NO NO"]}, None),
        ({"cv": ["YES YES", "YES NO", "NO NO"]}, None),  # a wrong one beside right ones
        ({"cv": ["YES YES", "YES YES"]}, "cv: 2 rightly YES, 0 rightly NO"),
        ({"cv": ["YES YES", "NO YES"]}, "cv: 1 rightly YES, 0 rightly NO"),  # both truths, one answer
        ({"cv": ["YES YES", "YES NO"]}, "cv: 1 rightly YES, 0 rightly NO"),  # both answers, one truth
        ({"cv": ["YES YES", "NO NO"], "mg": ["NO NO"]}, "mg: 0 rightly YES, 1 rightly NO"),
        ({"cv": ["YES NO", "NO YES"]}, "cv: 0 rightly YES, 0 rightly NO"),
    ],
)
def test_of_each_task_both_answers_are_taught_rightly(tmp_path: Path, lessons, refused: str | None) -> None:
    """``"YES NO"``: the truth is YES, the lesson says NO."""
    folders = []
    for task, pairs in lessons.items():
        for number, pair in enumerate(pairs):
            truth, said = pair.split()
            text = GOOD if said == "YES" else tuple(map(no, GOOD))
            trace = inspect(text)
            made = record(trace, id=f"{task}-{number}", truth=truth, task=task)
            Store.make(tmp_path / f"{task}-{number}").add(made, trace.pictures)
            folders.append(str(tmp_path / f"{task}-{number}"))
    found = read_lessons(DataPart(trajectories=tuple(folders), at_least="draft"))
    if refused is None:
        refuse_one_sided(found)
        return
    with pytest.raises(UserError, match="with one answer only") as error:
        refuse_one_sided(found)
    assert f"got: {refused}\n" in str(error.value)


def test_a_lesson_without_an_answer_has_nothing_to_weigh(config: Config, tmp_path: Path) -> None:
    folder_of(
        tmp_path / "drafts",
        [inspect(GOOD), inspect([*GOOD[:2], "<think>Broad.</think>\nThe answer is YES."])],
    )
    told = config(
        data={"trajectories": [str(tmp_path / "drafts")]}, inspection={"prompt": "guideline"}, answer_weight=2
    )
    with pytest.raises(UserError, match="answer_weight weighs the YES or NO") as error:
        train(told, tmp_path / "out")
    assert "where: trajectories star-1\n" in str(error.value)


def test_a_task_that_is_named_must_have_trajectories(config: Config, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no trajectory") as error:
        train(config(data={"tasks": ["cv", "mg"]}), tmp_path / "out")
    assert "data.tasks: mg" in str(error.value)


@pytest.mark.parametrize("state", ["", '{"global_st', "{}", "null", '{"global_step": "x"}'])
def test_a_checkpoint_without_a_whole_state_is_removed(tmp_path: Path, state: str) -> None:
    """As a kill or a full disk leaves it; the log goes back to the checkpoint before."""
    folder = TrainFolder(tmp_path)
    for step, content in ((2, '{"global_step": 2}'), (4, state)):
        made = folder.checkpoints / f"checkpoint-{step}"
        made.mkdir(parents=True)
        (made / "trainer_state.json").write_text(content)
    for step in (1, 2, 3, 4):
        folder.log({"step": step})
    assert folder.last_checkpoint() == folder.checkpoints / "checkpoint-2"
    assert not (folder.checkpoints / "checkpoint-4").exists()
    assert [line["step"] for line in folder.lines()] == [1, 2]
