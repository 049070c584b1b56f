"""Cards, Croissant, export and push: what is published is whole, loads, and says what it is."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from specvi_benchmark.cli.main import main
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import sha256_file
from specvi_benchmark.hub.card import dataset_card, file_names, size_category
from specvi_benchmark.hub.columns import CONTENT, columns
from specvi_benchmark.hub.croissant import croissant
from specvi_benchmark.hub.export import export_split
from specvi_benchmark.hub.surveys import known_surveys, licence_of, require_terms
from specvi_benchmark.spectrum import clean_spectrum
from specvi_benchmark.splits import Candidate, Split
from specvi_benchmark.splits.io import read_split, write_split
from specvi_benchmark.splits.manifest import describe
from specvi_benchmark.splits.pictures import full_view
from specvi_benchmark.splits.schema import SCHEMA, leaves
from specvi_benchmark.tasks import get_task

HERE = Path(__file__).parent


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


hub_server = load(HERE.parent / "servers" / "hub_server.py")


def made(surveys=("lamost",), tracks=(("cv", "main"), ("cs", "cross-survey")), parts=("train", "test")):
    """Return a split of short spectra: two of each truth for each task, part and survey."""
    candidates = [
        Candidate(
            id=f"{task}-{track}-{part}-{survey}-{number}",
            task=get_task(task),
            track=track,
            part=part,
            spectrum=clean_spectrum(
                [4000.0 + 10 * step for step in range(300)],
                [1.0 + (step * (number + 3) % 7) for step in range(300)],
                [1.0] * 300,
                survey=survey,
                release="DR10" if survey == "lamost" else None,
                name=f"{survey}-{task}-{part}-{number}",
                survey_id=f"{task}-{part}-{number}",
            ),
            redshift=None if number == 0 else 0.001,
            truth="YES" if number % 2 else "NO",
            object_id=f"{survey}-{task}-{part}-{number}",
            object_id_source="gaia",
            label_source="catalogues",
            label_evidence={"catalogues": [{"cites": "Someone 2024, AJ 1, 1", "class": "cv"}]},
        )
        for task, track in tracks
        for part in parts
        for survey in surveys
        for number in range(4)
    ]
    recipe = {
        "weak_classifier": {"acceptance": 0.8},
        "sets": [{"track": "main", "tasks": ["cv"], "positives_filter": "none"}],
    }
    return Split("toy", "3", tuple(candidates), recipe)


def specvi(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    return ended.value.code or 0, output.out, output.err


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "toy"
    files = export_split(made(), folder, repo_id="me/toy", date="2026-01-02", picture=full_view)
    return folder, files


def front_matter(text):
    return yaml.safe_load(re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)[1])


def test_an_export_is_a_split_folder_with_card_metadata_and_previews(exported):
    folder, files = exported
    assert [str(file) for file in files] == [
        "README.md", "croissant.json",
        "previews/cs_cross-survey_NO.png", "previews/cs_cross-survey_YES.png",
        "previews/cv_NO.png", "previews/cv_YES.png", "split.json",
        "test_cs_cross-survey.parquet", "test_cv.parquet", "train_cs_cross-survey.parquet", "train_cv.parquet",
    ]  # fmt: skip
    assert read_split(folder).fingerprint == made().fingerprint
    assert not list(folder.parent.glob(".*"))  # nothing is left of the making
    with pytest.raises(UserError, match="not empty"):
        export_split(made(), folder, repo_id="me/toy", date="2026-01-02", picture=None)


def test_an_export_loads_with_datasets_and_runs_unchanged(exported, tmp_path, monkeypatch, capsys):
    import datasets

    folder, _ = exported
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    rows = datasets.load_dataset(str(folder), "cv", split="test", cache_dir=str(tmp_path / "cache"))
    known = {c.id: c for c in made().select(part="test", task="cv").candidates}
    assert set(rows["data_source"]) == {"cv"}
    assert len(rows) == len(known) == 4
    for row in rows:
        candidate = known[row["extra_info"]["index"]]
        assert row["reward_model"]["ground_truth"] == candidate.truth
        tool = row["extra_info"]["tools_kwargs"]["spectral_visualization_tool"]["create_kwargs"]
        assert tool["flux"] == candidate.spectrum.flux.tolist()
        assert tool["redshift"] == candidate.redshift
        assert row["images"][0]["bytes"] == full_view(candidate)
    both = datasets.load_dataset(str(folder), "cs_cross-survey", cache_dir=str(tmp_path / "cache"))
    assert {part: len(part_rows) for part, part_rows in both.items()} == {"train": 4, "test": 4}
    monkeypatch.setenv("SPECVI_HOME", str(tmp_path / "home"))
    arguments = ("run", "--vetter", "always-yes", "--split", folder, "--out", tmp_path / "run")
    code, _, err = specvi(capsys, *arguments)
    assert code == 0, err
    answers = [json.loads(line) for line in (tmp_path / "run" / "predictions.jsonl").read_text().splitlines()]
    assert {answer["id"] for answer in answers} == set(known)


def test_one_file_of_an_export_is_imported_alone(exported, tmp_path, capsys):
    folder, _ = exported
    code, _, err = specvi(capsys, "split", "import", folder / "test_cv.parquet", "--out", tmp_path / "one")
    assert code == 0, err
    assert len(read_split(tmp_path / "one").candidates) == 4
    code, _, err = specvi(capsys, "split", "import", folder, "--out", tmp_path / "all")
    assert code == 0, err
    whole = read_split(tmp_path / "all")
    assert (whole.name, whole.version, whole.fingerprint) == ("toy", "3", made().fingerprint)


def test_the_card_says_what_the_split_is(exported):
    folder, _ = exported
    text = (folder / "README.md").read_text()
    about = front_matter(text)
    assert about["license"] == "other"
    assert about["size_categories"] == ["n<1K"]
    assert about["configs"] == [
        {
            "config_name": "cv",
            "data_files": [
                {"split": "train", "path": "train_cv.parquet"},
                {"split": "test", "path": "test_cv.parquet"},
            ],
        },
        {
            "config_name": "cs_cross-survey",
            "data_files": [
                {"split": "train", "path": "train_cs_cross-survey.parquet"},
                {"split": "test", "path": "test_cs_cross-survey.parquet"},
            ],
        },
    ]
    split = made()
    assert split.fingerprint in text
    assert "| test | cv | 2 | 2 | 50% |" in text
    assert "16 spectra of LAMOST DR10" in text
    assert "4 of 16 rows have no redshift" in text
    assert "gives a YES away" in text  # positives_filter none
    assert "Someone 2024, AJ 1, 1" in text
    assert "Guoshoujing" in text
    assert "Tohono" not in text  # no DESI spectrum, no thanks to DESI
    assert "simulated" not in text.casefold()
    for path in re.findall(r"!\[\w+\]\((.+?)\)", text):
        assert (folder / path).read_bytes().startswith(b"\x89PNG")
    for path, _, _ in columns():
        assert f"| `{path}` |" in text


def test_the_card_is_one_that_the_hub_reads(exported):
    from huggingface_hub import DatasetCard

    card = DatasetCard.load(exported[0] / "README.md")
    assert card.data.license_name == "terms-of-each-survey"
    assert card.data.pretty_name == "toy 3"


@pytest.mark.parametrize(
    ("surveys", "licence", "thanked"),
    [
        (("desi",), "cc-by-4.0", ["Tohono"]),
        (("lamost", "sdss", "desi"), "other", ["Guoshoujing", "Sloan Foundation", "Tohono"]),
        (("simulated-lamost",), "apache-2.0", []),
    ],
)
def test_licence_and_thanks_follow_the_surveys(surveys, licence, thanked):
    split = made(surveys=surveys)
    text = str(dataset_card(split, describe(split, file_names(split)), "me/toy", {}))
    assert front_matter(text)["license"] == licence
    for words in ("Guoshoujing", "Sloan Foundation", "Tohono"):
        assert (words in text) == (words in thanked)
    assert ("**Every spectrum in it is simulated.**" in text) == surveys[0].startswith("simulated")


def test_spectra_without_known_terms_are_marked_and_not_pushed(tmp_path, capsys):
    split = made(surveys=("lamost", "private"))
    assert licence_of(split) == ("unknown", None)
    assert "Spectra without known terms: private" in str(
        dataset_card(split, describe(split, file_names(split)), "me/toy", {})
    )
    with pytest.raises(UserError, match="terms of a survey are not known"):
        require_terms(split)
    write_split(split, tmp_path / "s")
    code, _, err = specvi(
        capsys, "split", "push", tmp_path / "s", "--repo", "me/toy", "--dry-run", "--out", tmp_path / "o"
    )
    assert code == 2
    assert "private" in err
    assert not (tmp_path / "o").exists()


def test_every_survey_has_address_thanks_and_citation():
    for terms in known_surveys().values():
        assert terms.address.startswith("https://")
        assert terms.acknowledge
        assert re.search(r"\d{4}", terms.cite)


def test_every_column_of_the_schema_is_described():
    assert set(CONTENT) == set(leaves(SCHEMA))


@pytest.mark.parametrize(
    ("rows", "word"), [(999, "n<1K"), (1000, "1K<n<10K"), (6754, "1K<n<10K"), (10118, "10K<n<100K")]
)
def test_sizes_are_spelled_as_the_hub_does(rows, word):
    assert size_category(rows) == word


def test_croissant_has_what_the_specification_requires(exported):
    """Required by Croissant 1.0: of the dataset, of every file, of every record set and field."""
    folder, _ = exported
    data = json.loads((folder / "croissant.json").read_text())
    for key in (
        "@context",
        "@type",
        "conformsTo",
        "description",
        "license",
        "name",
        "url",
        "creator",
        "datePublished",
    ):
        assert data[key], key
    assert data["@type"] == "sc:Dataset"
    assert data["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    assert data["datePublished"] == "2026-01-02"
    files = {item["@id"]: item for item in data["distribution"]}
    assert set(files) == {path.name for path in folder.glob("*.parquet")}
    for name, item in files.items():
        assert item["sha256"] == sha256_file(folder / name)
        assert item["contentSize"] == f"{(folder / name).stat().st_size} B"
        assert item["encodingFormat"] == "application/x-parquet"
        assert (folder / item["contentUrl"]).exists()
    ids = set(files)

    def walk(fields):
        for field in fields:
            yield field
            yield from walk(field.get("subField", []))

    for records in data["recordSet"]:
        found = list(walk(records["field"]))
        told = {field["name"] for field in found if "subField" not in field}
        assert told == set(leaves(SCHEMA))
        for field in found:
            assert field["@id"] not in ids, "ids are unique in the whole document"
            ids.add(field["@id"])
            assert field["@type"] == "cr:Field"
            if "subField" in field:
                continue
            assert field["dataType"] in {"sc:Text", "sc:Float", "sc:Boolean", "sc:Integer", "sc:ImageObject"}
            assert field["source"]["fileObject"]["@id"] in files
            assert field["source"]["extract"]["column"] in SCHEMA.names
        assert records["key"]["@id"] in ids


def test_croissant_paths_lead_to_the_values(exported):
    folder, _ = exported
    data = json.loads((folder / "croissant.json").read_text())
    records = next(item for item in data["recordSet"] if item["@id"] == "test_cv")
    row = pq.read_table(folder / "test_cv.parquet").to_pylist()[0]

    def follow(value, steps):
        if not steps:
            return [value]
        name, *rest = steps
        inside = [value] if name == "$" else value if name == "$[*]" else None
        if inside is None:
            got = value[name.removesuffix("[*]")]
            inside = got if name.endswith("[*]") else [got]
        return [found for one in inside for found in follow(one, rest)]

    found = {}
    for field in records["field"]:
        for leaf in field.get("subField", [field]):
            source = leaf["source"]
            steps = source.get("transform", {"jsonPath": "$"})["jsonPath"].split(".")
            found[leaf["name"]] = follow(row[source["extract"]["column"]], steps)
    assert found["prompt.role"] == ["system", "user"]
    assert found["images.bytes"] == [row["images"][0]["bytes"]]
    assert found["data_source"] == ["cv"]
    assert found["specvi.survey"] == ["lamost"]
    (flux,) = found["extra_info.tools_kwargs.spectral_visualization_tool.create_kwargs.flux"]
    assert len(flux) == 300


def test_croissant_names_the_terms_where_there_is_no_one_licence():
    split = made(surveys=("lamost", "desi"))
    manifest = describe(split, ())
    data = croissant(split, manifest, Path(), "me/toy", "2026-01-02")
    assert data["license"] == [known_surveys()[name].address for name in ("lamost", "desi")]
    only = made(surveys=("desi",))
    assert "by/4.0" in croissant(only, describe(only, ()), Path(), "me/toy", "2026-01-02")["license"]


def test_the_card_command_prints_the_card(capsys, tmp_path):
    write_split(made(), tmp_path / "toy")
    code, out, _ = specvi(capsys, "split", "card", tmp_path / "toy", "--repo", "me/toy")
    assert code == 0
    assert front_matter(out)["configs"][0]["config_name"] == "cv"
    assert made().fingerprint in out


def test_dry_run_and_out_go_together_and_a_token_is_needed(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    write_split(made(), tmp_path / "toy")
    code, _, err = specvi(capsys, "split", "push", tmp_path / "toy", "--repo", "me/toy")
    assert code == 2
    assert "HF_TOKEN" in err
    code, _, err = specvi(capsys, "split", "push", tmp_path / "toy", "--repo", "me/toy", "--dry-run")
    assert code == 2
    assert "--out" in err
    code, _, err = specvi(
        capsys, "split", "export", tmp_path / "toy", "--out", tmp_path / "x", "--date", "May"
    )
    assert code == 2
    assert "YYYY-MM-DD" in err


def push(url, home, *arguments, token):
    surroundings = {**os.environ, "HF_ENDPOINT": url, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1"}
    surroundings.pop("HF_TOKEN", None)
    if token:
        surroundings["HF_TOKEN"] = token
    return subprocess.run(
        [sys.executable, "-m", "specvi_benchmark.cli.main", "split", *map(str, arguments)],
        env=surroundings, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_a_push_uploads_exactly_what_the_dry_run_wrote(tmp_path):
    write_split(made(), tmp_path / "toy")
    hub = hub_server.Hub(token="secret-token")
    hub.add("me/toy", {"test_old.parquet": b"x", "previews/old.png": b"x", "notes.txt": b"kept"})
    arguments = ("push", tmp_path / "toy", "--repo", "me/toy", "--date", "2026-01-02")
    home = tmp_path / "hf"
    home.mkdir()
    (home / "token").write_text("a stored login")  # only the environment counts
    with hub_server.serve_hub(hub) as url:
        done = push(url, home, *arguments, "--dry-run", "--out", tmp_path / "dry", token=None)
        assert done.returncode == 0, done.stderr
        assert "Nothing was uploaded" in done.stdout
        assert hub.asked == []
        done = push(url, home, *arguments, token=None)
        assert (done.returncode, hub.asked) == (2, [])
        done = push(url, home, *arguments, token="wrong")
        assert done.returncode == 2
        assert "did not take the dataset" in done.stderr
        assert "Traceback" not in done.stderr
        assert "test_old.parquet" in hub.head("me/toy")
        done = push(url, home, *arguments, token="secret-token")
        assert done.returncode == 0, done.stderr
        assert "secret-token" not in done.stdout + done.stderr
        dry = {
            str(p.relative_to(tmp_path / "dry")): p.read_bytes()
            for p in (tmp_path / "dry").rglob("*")
            if p.is_file()
        }
        assert hub.head("me/toy") == dry | {"notes.txt": b"kept"}
        done = push(url, home, "import", "hf:me/toy", "--out", tmp_path / "back", token=None)
        assert done.returncode == 0, done.stderr
    back = read_split(tmp_path / "back")
    assert (back.fingerprint, back.name, back.version) == (made().fingerprint, "toy", "3")
    assert back.recipe["hub"] == "me/toy"
    assert back.recipe["weak_classifier"] == {"acceptance": 0.8}


@pytest.mark.slow
def test_private_is_never_public(tmp_path):
    """A repository that is there keeps who may see it: what was to be private must not go into a public one."""
    write_split(made(), tmp_path / "toy")
    hub = hub_server.Hub(token="secret-token")
    hub.add("me/open", {"notes.txt": b"kept"})
    arguments = ("push", tmp_path / "toy", "--date", "2026-01-02", "--private")
    with hub_server.serve_hub(hub) as url:
        done = push(url, tmp_path, *arguments, "--repo", "me/open", token="secret-token")
        assert done.returncode == 2
        assert "is public" in done.stderr
        assert hub.head("me/open") == {"notes.txt": b"kept"}
        for _ in range(2):  # made private, and private when it is there
            done = push(url, tmp_path, *arguments, "--repo", "me/closed", token="secret-token")
            assert done.returncode == 0, done.stderr
        assert hub.private == {"me/closed"}
        assert "test_cv.parquet" in hub.head("me/closed")


def test_a_hub_that_cannot_be_reached_is_told_in_a_sentence(tmp_path):
    write_split(made(), tmp_path / "toy")
    arguments = ("push", tmp_path / "toy", "--repo", "me/toy")
    done = push("http://127.0.0.1:9", tmp_path, *arguments, token="secret-token")  # the port that discards
    assert done.returncode == 2
    assert "did not take the dataset" in done.stderr
    assert "Connection refused" in done.stderr
    assert not {"Traceback", "secret-token"} & set(done.stderr.replace(":", " ").split())


@pytest.mark.parametrize("repo", ["me", "me/my toy", "a/b/c", "me/", ""])
def test_a_name_is_looked_at_before_anything_is_drawn(capsys, tmp_path, repo):
    write_split(made(), tmp_path / "toy")
    code, _, err = specvi(
        capsys, "split", "push", tmp_path / "toy", "--repo", repo, "--dry-run", "--out", tmp_path / "d"
    )
    assert code == 2
    assert "OWNER/NAME" in err
    assert not (tmp_path / "d").exists()


def test_what_a_dry_run_tells_to_do_next_is_what_was_asked(capsys, tmp_path):
    write_split(made(), tmp_path / "toy")
    asked = ("--repo", "me/toy", "--date", "2026-01-02", "--official-names", "--private", "--branch", "v2")
    code, out, err = specvi(
        capsys, "split", "push", tmp_path / "toy", *asked, "--dry-run", "--out", tmp_path / "dry"
    )
    assert code == 0, err
    told = out.split("Next: ")[1].split()
    assert told == ["specvi", "split", "push", str(tmp_path / "toy"), *asked]
