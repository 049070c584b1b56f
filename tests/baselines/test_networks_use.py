"""Trained networks in use: saliency, ensembles, read-outs, published weights, and the commands."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from sklearn.neighbors import KNeighborsClassifier
from typer.testing import CliRunner

from specvi_baselines.cli import bench_nets, saliency
from specvi_baselines.networks.cost import measure_here
from specvi_baselines.networks.folder import read_model, read_record
from specvi_baselines.networks.published import load_published
from specvi_baselines.networks.saliency import _continuum, share_of
from specvi_baselines.networks.saliency import saliency as attribute
from specvi_baselines.networks.settings import NAMES, Masking
from specvi_baselines.networks.specformer import (
    MLP_LAYERS,
    NEIGHBOURS,
    MaskedReconstruction,
    Neighbours,
    SpecFormer,
    mlp,
)
from specvi_baselines.networks.tensors import stack
from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.fitting import fit, load_system
from specvi_benchmark.scoring.probability import auroc
from specvi_benchmark.splits.io import write_split
from specvi_benchmark.vetting import Outcome

PLANTED_AA = 6000.0
LAYERS = (
    *("layernorm1", "attention.attention", "attention.projection"),
    *("layernorm2", "mlp.encoder", "mlp.decoder"),
)


def published_state(width: int = 16, depth: int = 2, longest: int = 30) -> dict[str, torch.Tensor]:
    """Return tensors with the names and shapes of AstroCLIP's SpecFormer, as its released code gives them."""
    shapes = {
        "layernorm1": (width,),
        "attention.attention": (3 * width, width),
        "attention.projection": (width, width),
        "layernorm2": (width,),
        "mlp.encoder": (4 * width, width),
        "mlp.decoder": (width, 4 * width),
    }
    state = {"position_embed.weight": torch.randn(longest, width)}
    named = {"data_embed": (width, 22), "head": (22, width), "final_layernorm": (width,)}
    named |= {f"blocks.{block}.{layer}": shapes[layer] for block in range(depth) for layer in LAYERS}
    for name, shape in named.items():
        state[f"{name}.weight"], state[f"{name}.bias"] = torch.randn(shape), torch.randn(shape[0])
    return state


@pytest.mark.parametrize("prefix", ["", "spectrum_encoder.backbone."])
@pytest.mark.parametrize("kind", ["safetensors", "lightning"])
def test_published_weights_are_loaded_by_their_names(tmp_path, prefix, kind):
    state = published_state()
    stored = {prefix + name: value for name, value in state.items()}
    path = tmp_path / ("weights.safetensors" if kind == "safetensors" else "specformer.ckpt")
    if kind == "safetensors":
        save_file(stored, path)
    else:
        torch.save({"state_dict": stored, "hyper_parameters": {"embed_dim": 16}, "epoch": 9}, path)
    encoder = SpecFormer(16, 2, 2, 30)
    assert len(load_published(encoder, path)) == 64
    found = encoder.state_dict()
    assert set(found) == set(state)
    assert all(torch.equal(found[name], value) for name, value in state.items())


class Harmful:
    def __reduce__(self):
        return (open, ("/nonexistent/should-not-be-opened", "w"))


def test_a_file_that_would_run_code_or_does_not_fit_is_refused(tmp_path):
    encoder = SpecFormer(16, 2, 2, 30)
    torch.save({"state_dict": Harmful()}, tmp_path / "harmful.ckpt")
    with pytest.raises(UserError, match="read safely"):
        load_published(encoder, tmp_path / "harmful.ckpt")
    save_file(published_state(width=32), tmp_path / "wide.safetensors")
    with pytest.raises(UserError, match="don't fit") as told:
        load_published(encoder, tmp_path / "wide.safetensors")
    assert "(32, 22), not (16, 22)" in str(told.value)
    save_file({"something": torch.ones(2)}, tmp_path / "other.safetensors")
    with pytest.raises(UserError, match="no SpecFormer weights"):
        load_published(encoder, tmp_path / "other.safetensors")
    with pytest.raises(UserError, match="no such file"):
        load_published(encoder, tmp_path / "missing.ckpt")


def test_slices_hold_what_astroclip_describes():
    flux = torch.randn(2, 60, generator=torch.Generator().manual_seed(0)) * 3 + 5
    slices = SpecFormer(8, 1, 2, 10).slices(flux, torch.ones_like(flux))
    assert slices.shape == (2, 1 + 5, 22)
    mean, sigma = flux.mean(dim=1), flux.std(dim=1)
    assert torch.allclose(slices[:, 0, :2], torch.stack([(mean - 2) / 2, (sigma - 2) / 8], dim=1))
    assert (slices[:, 1:, :2] == 0).all()
    scaled = (flux - mean[:, None]) / sigma[:, None]
    assert torch.allclose(slices[:, 3, 2:], scaled[:, 20:40])


def test_masked_runs_hide_what_was_asked_for_and_the_loss_sees_only_them():
    task = MaskedReconstruction(SpecFormer(8, 1, 2, 100), Masking(runs=4, tokens=5)).train()
    hidden = task._hidden(50, 80)
    assert (hidden.sum(dim=1) == 20).all()
    assert (hidden.reshape(50, 4, 20).sum(dim=2) == 5).all()
    assert len({tuple(row.tolist()) for row in hidden}) > 10


def test_neighbours_vote_as_scikit_learn_does():
    rng = np.random.default_rng(0)
    embedding, asked = rng.normal(size=(300, 6)), rng.normal(size=(40, 6))
    positive = rng.random(300) < 0.4
    reader = Neighbours(6, 2, 0)
    labels = torch.zeros(300, 2)
    labels[:, 1] = torch.tensor(2.0 * positive - 1)
    labels[:5, 0] = torch.tensor([1.0, -1, 1, -1, 1])  # another task, fewer labels than neighbours
    reader.remember(torch.tensor(embedding, dtype=torch.float32), labels)
    logits = reader(torch.tensor(asked, dtype=torch.float32))
    share = (
        KNeighborsClassifier(NEIGHBOURS, weights="distance")
        .fit(embedding, positive)
        .predict_proba(asked)[:, 1]
    )
    votes = NEIGHBOURS * share
    assert logits[:, 1].numpy() == pytest.approx(np.log((votes + 0.5) / (NEIGHBOURS - votes + 0.5)), abs=1e-4)
    assert torch.isfinite(logits[:, 0]).all()


def test_a_read_out_learns_what_differs_little_beside_what_all_spectra_share():
    """As mean tokens are: a large part common to all, a slope that differs, and a line that differs little."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        spread = torch.tensor([0.3, *[0.01] * 15])
        embedding = torch.randn(16) + spread * torch.randn(400, 16)
        line = embedding[:, 3]
        positive = (line > line.median()).float()
        reader = mlp(16, MLP_LAYERS, 1, 0.0).train()
        optimiser = torch.optim.AdamW(reader.parameters(), 1e-3)
        for step in range(60):
            rows = torch.arange(200).roll(20 * step)[:20]
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                reader(embedding[rows])[:, 0], positive[rows]
            )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        found = reader.eval()(embedding[200:])[:, 0].detach().double().numpy()
    assert auroc(positive[200:].numpy() > 0, found) > 0.9


def test_a_read_out_does_not_see_the_scale_of_an_embedding():
    embedding = torch.randn(50, 8, generator=torch.Generator().manual_seed(0))
    reader = mlp(8, (6,), 2, 0.0).train()
    moved = embedding * torch.linspace(1, 30, 8) + torch.linspace(-90, 90, 8)
    assert torch.allclose(reader(embedding), reader(moved), atol=1e-3)


def test_a_batch_of_one_spectrum_is_standardised_by_those_before_it():
    embedding = torch.randn(50, 8, generator=torch.Generator().manual_seed(0))
    reader = mlp(8, (6,), 2, 0.0).train()
    reader(embedding)
    trained = reader(embedding[:1])
    assert torch.equal(trained, reader.eval()(embedding[:1]))
    assert torch.isfinite(trained).all()


@pytest.fixture
def planted(make_planted, tmp_path):
    """Return a split with a planted line, and its folder."""
    split = make_planted(120)
    write_split(split, tmp_path / "split")
    return split, str(tmp_path / "split")


LEARNING = {"setting": "test", "epochs": "12", "learning_rate": "0.004"}


@pytest.mark.slow
@pytest.mark.parametrize("readout", ["head", "few-shot", "knn"])
def test_read_outs_of_a_frozen_encoder_learn_the_line(readout, planted, tmp_path):
    split, folder = planted
    own = {"head": LEARNING, "few-shot": LEARNING | {"few_shot": "30"}, "knn": {"setting": "test"}}
    options = own[readout] | {"readout": readout}
    spec = fit("specformer", folder, tmp_path / "model", options=options)
    record = read_record(tmp_path / "model", "specformer")
    assert record.settings.readout == readout
    assert record.unlabelled == 120
    test = split.select(part="test").candidates
    found = load_system(spec, {"probability": "raw"}).vet([one.question for one in test])
    positive = np.array([one.truth == "YES" for one in test])
    assert (
        auroc(positive, np.array([verdict.p_yes for verdict in found])) > 0.7
    )  # 0.5 by chance, spread 0.075


@pytest.mark.slow
@pytest.mark.parametrize("name", ["carbonnet-style", "spectrum-net"])
def test_a_planted_line_is_found_by_saliency_and_named_by_the_command(name, planted, tmp_path, monkeypatch):
    split, folder = planted
    model = tmp_path / "model"
    fit(name, folder, model, options=LEARNING)
    record = read_record(model, name)
    network = read_model(model, record)
    members = [one for one in split.select(part="test").candidates if one.truth == "YES"][:8]
    lifts = []
    for one in members:
        found = attribute(network, one.question, record.tasks, record.settings.grid)
        lifts.append(share_of(found.attribution, found.wavelength_AA, found.known, [(5900, 6100)]).lift)
        assert found.attribution.sum() > 0
        # Completeness: the attribution adds up to what the spectrum does to the logit of its own continuum.
        read = stack([one.question.spectrum], record.settings.grid)
        good = read.ivar > 0
        smooth = torch.where(good, _continuum(read.flux, good, record.settings.grid), 0.0)
        with torch.inference_mode():
            change = float(network(read.flux, read.ivar)[0, 0] - network(smooth, read.ivar)[0, 0])
        assert found.attribution.sum() == pytest.approx(change, rel=0.1, abs=0.1)
        assert found.residue == pytest.approx(found.attribution.sum() - change, abs=1e-3)
    monkeypatch.setattr("specvi_baselines.networks.saliency.STEPS", 256)
    finer = attribute(network, one.question, record.tasks, record.settings.grid)
    assert finer.attribution.sum() == pytest.approx(change, rel=0.03)
    assert np.median(lifts) > 5  # 200 of 5360 Å hold more than five times their share
    picture = tmp_path / "found.png"
    asked = [str(model), folder, members[0].id, "--out", str(picture), "--json"]
    done = CliRunner().invoke(saliency.app, asked)
    assert done.exit_code == 0, done.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert json.loads(done.output)["p_yes"] > 0.5
    done = CliRunner().invoke(saliency.app, [str(model), folder, "--task", "cv", "--limit", "3", "--json"])
    assert json.loads(done.output)["members"] == 3


def test_an_ensemble_is_the_mean_of_its_members(planted, tmp_path):
    split, folder = planted
    folders = [tmp_path / "a", tmp_path / "b"]
    fit("carbonnet-style", folder, folders[0], options={"setting": "test"}, seed=1)
    fit("gaianet-style", folder, folders[1], options={"setting": "test"}, seed=2)
    ensemble = load_system(f"ensemble:{folders[0]},{folders[1]}")
    questions = [one.question for one in split.select(part="test").candidates]
    each = [
        load_system(f"{n}:{f}") for n, f in zip(("carbonnet-style", "gaianet-style"), folders, strict=True)
    ]
    means = np.mean([[verdict.p_yes for verdict in one.vet(questions)] for one in each], axis=0)
    found = list(ensemble.vet(questions))
    assert [verdict.p_yes for verdict in found] == pytest.approx(means)
    assert all((verdict.answer == "YES") == (verdict.p_yes >= 0.5) for verdict in found)
    assert [member["vetter"] for member in ensemble.config["members"]] == ["carbonnet-style", "gaianet-style"]
    assert ensemble.config["members"][0]["training"]["seed"] == 1
    with pytest.raises(UserError, match="options of training have no effect"):
        load_system(f"ensemble:{folders[0]},{folders[1]}", {"batch": "9"})
    for argument, words in (
        (str(folders[0]), "two folders"),
        (f"{folders[0]},{tmp_path}", "not a trained system"),
    ):
        with pytest.raises(UserError, match=words):
            load_system(f"ensemble:{argument}")


def test_an_ensemble_averages_only_what_goes_together(planted, tmp_path):
    split, folder = planted
    few = tuple(c for n, c in enumerate(split.candidates) if c.part != "cal" or c.truth == "NO" or n % 8 == 0)
    write_split(replace(split, candidates=few), tmp_path / "few")
    for name, place in (("even", folder), ("rare", str(tmp_path / "few"))):
        fit("logistic", place, tmp_path / name)
    fit("logistic", folder, tmp_path / "seed", seed=1)  # a seed changes nothing in it
    fit("metadata-only", folder, tmp_path / "unmended")
    shutil.copytree(tmp_path / "even", tmp_path / "copy")
    for other, words in (
        ("copy", "same system"),
        ("seed", "same system"),
        ("unmended", "not mended"),
        ("rare", "different shares"),
    ):
        with pytest.raises(UserError, match=words):
            load_system(f"ensemble:{tmp_path / 'even'},{tmp_path / other}")
    load_system(f"ensemble:{tmp_path / 'even'},{tmp_path / 'rare'}", {"prevalence": "0.1"})


def test_an_ensemble_hands_on_what_a_member_cannot_answer(planted, make_planted, tmp_path):
    _, folder = planted
    for seed in (1, 2):
        fit("carbonnet-style", folder, tmp_path / str(seed), options={"setting": "test"}, seed=seed)
    ensemble = load_system(f"ensemble:{tmp_path / '1'},{tmp_path / '2'}")
    (verdict,) = ensemble.vet([make_planted(2, tasks=("wd",)).candidates[0].question])
    assert verdict.outcome is Outcome.ERROR


@pytest.mark.parametrize("name", NAMES)
def test_every_network_can_be_measured(name):
    cost = measure_here(name, "test", rounds=1, spectra=8, threads=1)
    assert cost.per_second > 0
    assert cost.trained_per_core_second > 0
    assert cost.peak_mb >= cost.started_mb > 0


@pytest.mark.slow
def test_bench_nets_measures_in_a_process_of_its_own():
    asked = [
        "gaianet-style",
        "--setting",
        "test",
        "--rounds",
        "1",
        "--spectra",
        "8",
        "--threads",
        "1",
        "--json",
    ]
    done = CliRunner().invoke(bench_nets.app, asked)
    assert done.exit_code == 0, done.output
    (cost,) = json.loads(done.output)
    assert (cost["name"], cost["spectra"]) == ("gaianet-style", 8)
    assert isinstance(CliRunner().invoke(bench_nets.app, ["resnet"]).exception, UserError)
