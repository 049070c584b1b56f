"""Training: it learns, it is exact after a kill, and it refuses what can't be learnt."""

import json
import pickle
import resource
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from specvi_baselines.networks.folder import MODEL_FILE, WEIGHTS_FILE, read_record
from specvi_baselines.networks.settings import NAMES, load_settings
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import sha256_file
from specvi_benchmark.runs.fitting import fit, load_system
from specvi_benchmark.scoring.probability import auroc
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.io import write_split
from specvi_benchmark.vetting import Outcome, load_vetter

KILLED = """
import os, signal, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from specvi_baselines.networks import training
from specvi_benchmark.runs.fitting import fit
kept = training.save_checkpoint
def save_and_die(network, optimiser, state, stage):
    kept(network, optimiser, state, stage)
    if (stage.name, state.epoch) == ("training", 1):
        os.kill(os.getpid(), signal.SIGKILL)
training.save_checkpoint = save_and_die
name, split, out = sys.argv[1:]
fit(name, split, Path(out), options={"setting": "test"}, seed=3)
"""


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def split_folder(make_planted, tmp_path):
    """Return the folder of a split with two tasks."""
    write_split(make_planted(40, tasks=("cv", "cs")), tmp_path / "split")
    return str(tmp_path / "split")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spectrum-net", "specformer"])
def test_training_that_was_killed_goes_on_to_the_same_weights(name, split_folder, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    command = [sys.executable, "-c", KILLED, name, split_folder, str(broken)]
    died = subprocess.run(command, capture_output=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()[-500:]
    assert not broken.exists()
    (building,) = tmp_path.glob(".broken.*.tmp")
    before = (building / "checkpoint-training.pt").stat().st_mtime_ns
    fit(name, split_folder, broken, options={"setting": "test"}, seed=3)
    assert not building.exists()
    fit(name, split_folder, whole, options={"setting": "test"}, seed=3)
    assert before  # the checkpoint was there
    assert sha256_file(broken / WEIGHTS_FILE) == sha256_file(whole / WEIGHTS_FILE)
    assert (broken / MODEL_FILE).read_text() == (whole / MODEL_FILE).read_text()
    assert sorted(path.name for path in broken.iterdir()) == [
        "calibration.json", "fit.json", "model.json", "model.safetensors",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["carbonnet-style", "specformer"])
@pytest.mark.parametrize("last_step", ["write_model", "calibrate", "write_json"])
def test_what_was_trained_is_not_trained_again(name, last_step, split_folder, tmp_path, monkeypatch):
    """Killed after training, in any of the steps that follow: the same command does only what is missing."""
    out, place = tmp_path / "model", tmp_path / "whole"
    where = {
        "write_model": "specvi_baselines.networks.fitting.write_model",
        "calibrate": "specvi_baselines.calibration.calibrate",
        "write_json": "specvi_benchmark.runs.fitting.write_json",
    }[last_step]

    def die(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(where, die)
        with pytest.raises(KeyboardInterrupt):
            fit(name, split_folder, out, options={"setting": "test"}, seed=3)
    assert not out.exists()
    with monkeypatch.context() as patched:
        patched.setattr("specvi_baselines.networks.training._one_epoch", die)
        fit(name, split_folder, out, options={"setting": "test"}, seed=3)
    assert not list(out.glob("*.pt"))
    fit(name, split_folder, place, options={"setting": "test"}, seed=3)
    for file in (WEIGHTS_FILE, MODEL_FILE, "calibration.json"):
        assert (out / file).read_bytes() == (place / file).read_bytes()


@pytest.mark.parametrize("room", [0, 20_000])
def test_a_full_disk_is_told_and_the_same_command_goes_on(room, split_folder, tmp_path):
    """No file may grow beyond ``room`` bytes: what the system says then is what a full disk says."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            fit("spectrum-net", split_folder, broken, options={"setting": "test"}, seed=3)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not broken.exists()
    for out in (broken, whole):
        fit("spectrum-net", split_folder, out, options={"setting": "test"}, seed=3)
    assert sha256_file(broken / WEIGHTS_FILE) == sha256_file(whole / WEIGHTS_FILE)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_describes_itself_and_answers(name, split_folder, tmp_path, make_planted):
    spec = fit(name, split_folder, tmp_path / "model", options={"setting": "test"}, seed=1)
    record = read_record(tmp_path / "model", name)
    split = make_planted(40, tasks=("cv", "cs"))
    assert record.tasks == ("cv", "cs")
    assert record.train.fingerprint == split.select(part="train").fingerprint
    assert record.train.candidates["cv"] == {"YES": 20, "NO": 20}
    assert record.train.simulated
    assert set(record.metrics.dev_auroc) == {"cv", "cs"}
    vetter = load_system(spec)
    questions = [candidate.question for candidate in split.select(part="test").candidates]
    first, again = list(vetter.vet(questions)), list(vetter.vet(questions))
    assert first == again
    assert [verdict.id for verdict in first] == [question.id for question in questions]
    assert all(verdict.outcome is Outcome.ANSWERED for verdict in first)
    assert all((verdict.answer == "YES") == (verdict.p_yes >= 0.5) for verdict in first)
    assert vetter.config["training"]["train_fingerprint"] == record.train.fingerprint
    strange = list(
        vetter.vet([replace(questions[0], task=make_planted(4, tasks=("wd",)).candidates[0].task)])
    )
    assert strange[0].outcome is Outcome.ERROR
    assert "has not learnt" in strange[0].traces[0].turns[0].text
    json.dumps(dict(vetter.config))


def fitted_auroc(name: str, split: Split, folder, **options) -> float:
    from specvi_baselines.networks.vetter import create

    untrained = create(name, None, {"setting": "test", **options})
    folder.mkdir()
    untrained.fit(split.select(part="train"), split.select(part="dev"), folder, 0)
    untrained.calibrate(split.select(part="cal"), "cal", folder)
    test = split.select(part="test")
    found = create(name, str(folder), {}).vet([candidate.question for candidate in test.candidates])
    positive = np.array([candidate.truth == "YES" for candidate in test.candidates])
    return auroc(positive, np.array([verdict.p_yes for verdict in found]))


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_line_is_learnt_and_shuffled_labels_are_not(name, make_planted, tmp_path):
    options = {"epochs": "12", "learning_rate": "0.004"}
    assert fitted_auroc(name, make_planted(120), tmp_path / "true", **options) > 0.95
    shuffled = fitted_auroc(name, make_planted(120, shuffled=True), tmp_path / "shuffled", **options)
    assert 0.3 < shuffled < 0.7  # 30 YES, 30 NO: 0.5 with a standard deviation of 0.075


def test_seeds_differ_and_the_same_seed_does_not(split_folder, tmp_path):
    hashes = []
    for number, seed in enumerate((1, 1, 2)):
        fit("carbonnet-style", split_folder, tmp_path / str(number), options={"setting": "test"}, seed=seed)
        hashes.append(sha256_file(tmp_path / str(number) / WEIGHTS_FILE))
    assert hashes[0] == hashes[1] != hashes[2]


def test_one_class_or_no_such_option_is_told(make_planted, tmp_path):
    split = make_planted(20)
    one_class = tuple(c for c in split.candidates if c.part != "train" or c.truth == "YES")
    write_split(replace(split, candidates=one_class), tmp_path / "one")
    with pytest.raises(UserError, match="one class only") as told:
        fit("carbonnet-style", str(tmp_path / "one"), tmp_path / "model", options={"setting": "test"})
    assert "0 NO" in str(told.value)
    assert not list(tmp_path.glob(".model.*.tmp"))
    for options, words in (
        ({"setting": "huge"}, "no such setting"),
        ({"speed": "9"}, "no such option"),
        ({"epochs": "many"}, "not a number"),
        ({"readout": "knn"}, "no such option"),
    ):
        with pytest.raises(UserError, match=words):
            load_vetter("carbonnet-style", options)
    for seed in (-1, 2**31):
        with pytest.raises(UserError, match="not a seed"):
            fit(
                "carbonnet-style",
                str(tmp_path / "one"),
                tmp_path / "model",
                options={"setting": "test"},
                seed=seed,
            )
    for options in (
        {"few_shot": "9"},
        {"few_shot": "9", "readout": "head"},
        {"weights": "w.ckpt", "unlabelled": "mini"},
        {"epochs": "9", "readout": "knn"},
    ):
        with pytest.raises(UserError, match="without effect"):
            load_vetter("specformer", options)


def test_foreign_folders_are_told_apart(split_folder, tmp_path):
    folder = tmp_path / "model"
    fit("carbonnet-style", split_folder, folder, options={"setting": "test"})
    with pytest.raises(UserError, match="another kind") as told:
        load_vetter(f"spectrum-net:{folder}")
    assert f"carbonnet-style:{folder}" in told.value.fix
    load_vetter(f"carbonnet-style:{folder}", {"setting": "test", "prevalence": "0.01"})
    with pytest.raises(UserError, match="options of training have no effect") as told:
        load_vetter(f"carbonnet-style:{folder}", {"setting": "small", "epochs": "9"})
    assert told.value.expected == "setting=test, as it was trained, no epochs"
    assert told.value.got == "--option setting=small, --option epochs=9"
    with pytest.raises(UserError, match="not a trained carbonnet-style"):
        load_vetter(f"carbonnet-style:{tmp_path}")
    written = json.loads((folder / MODEL_FILE).read_text())
    (folder / MODEL_FILE).write_text(json.dumps(written | {"networks_version": 99, "suite_version": "9.9"}))
    with pytest.raises(UserError, match="another version") as told:
        load_vetter(f"carbonnet-style:{folder}")
    assert "9.9" in str(told.value)
    (folder / MODEL_FILE).write_text(json.dumps(written))
    content = bytearray((folder / WEIGHTS_FILE).read_bytes())
    content[-1] ^= 1
    (folder / WEIGHTS_FILE).write_bytes(content)
    with pytest.raises(UserError, match="not the ones that were written"):
        load_vetter(f"carbonnet-style:{folder}")


@pytest.mark.parametrize("name", ["carbonnet-style", "specformer"])
def test_neither_test_nor_cal_shapes_the_weights_and_test_shapes_nothing(name, make_planted, tmp_path):
    """The same training with other test spectra, and then with other labels in cal as well."""
    split, other = make_planted(20), make_planted(20, seed=9)

    def swapped(*parts):
        kept = tuple(c for c in split.candidates if c.part not in parts)
        return replace(split, candidates=(*kept, *(c for c in other.candidates if c.part in parts)))

    written = []
    for number, made in enumerate((split, swapped("test"), swapped("test", "cal"))):
        write_split(made, tmp_path / f"split{number}")
        folder = tmp_path / f"model{number}"
        fit(name, str(tmp_path / f"split{number}"), folder, options={"setting": "test"})
        written.append(
            [(folder / one).read_bytes() for one in (WEIGHTS_FILE, MODEL_FILE, "calibration.json")]
        )
    assert written[0] == written[1]
    assert written[0][:2] == written[2][:2]
    assert written[0][2] != written[2][2]


def test_a_folder_that_was_tampered_with_is_refused_and_no_pickle_is_read(split_folder, tmp_path):
    folder = tmp_path / "model"
    fit("carbonnet-style", split_folder, folder, options={"setting": "test"})
    spec, record = f"carbonnet-style:{folder}", json.loads((folder / MODEL_FILE).read_text())
    for name in ("model.pt", "pytorch_model.bin", "checkpoint-training.pt"):
        (folder / name).write_bytes(harmful(tmp_path / "ran"))
    load_vetter(spec)
    assert not (tmp_path / "ran").exists()
    (folder / WEIGHTS_FILE).write_bytes(harmful(tmp_path / "ran"))  # named in the description, even
    lying = record | {"weights_sha256": sha256_file(folder / WEIGHTS_FILE)}
    (folder / MODEL_FILE).write_text(json.dumps(lying))
    with pytest.raises(UserError, match="don't fit the description"):
        load_vetter(spec)
    assert not (tmp_path / "ran").exists()
    for changed in ({"widths": 3}, {"hidden": "wide"}):
        settings = record["settings"] | {"network": record["settings"]["network"] | changed}
        (folder / MODEL_FILE).write_text(json.dumps(lying | {"settings": settings}))
        with pytest.raises(UserError, match="don't fit the description"):
            load_vetter(spec)
    kept = json.loads((folder / "calibration.json").read_text())
    for content, words in (
        (kept | {"tasks": {"cv": kept["tasks"]["cv"]}}, "not that of the model"),
        (kept | {"tasks": kept["tasks"] | {"cv": kept["tasks"]["cv"] | {"slope": -1.0}}}, "slope"),
        (None, "calibration.json"),
    ):
        (folder / "calibration.json").unlink()
        if content is not None:
            (folder / "calibration.json").write_text(json.dumps(content))
        (folder / MODEL_FILE).write_text(json.dumps(record))
        with pytest.raises(UserError, match=words):
            load_vetter(spec)


def harmful(trace) -> bytes:
    class Harmful:
        def __reduce__(self):
            return (open, (str(trace), "w"))

    return pickle.dumps(Harmful())


@pytest.mark.parametrize("part", ["train", "dev", "cal"])
def test_a_task_that_a_part_lacks_is_told_before_anything_is_trained(
    part, make_planted, tmp_path, monkeypatch
):
    split = make_planted(20, tasks=("cv", "cs"))
    kept = tuple(c for c in split.candidates if c.part != part or c.task.key == "cv")
    write_split(replace(split, candidates=kept), tmp_path / "split")
    monkeypatch.setattr("specvi_baselines.networks.training._one_epoch", None)
    with pytest.raises(UserError, match=r"not in the train part|one class") as told:
        fit("carbonnet-style", str(tmp_path / "split"), tmp_path / "model", options={"setting": "test"})
    assert "cs" in str(told.value)
    assert not list(tmp_path.glob(".model.*.tmp"))


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_is_valid_and_full_is_the_larger(name):
    sizes = {setting: load_settings(name, setting).grid.pixels for setting in ("test", "small", "full")}
    assert sizes["test"] < sizes["small"] < sizes["full"]
