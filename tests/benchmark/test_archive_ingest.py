"""Files become an archive: each once, the bad ones listed, whatever interrupts."""

import csv
import fcntl
import gzip
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

from specvi_benchmark.archive.ingest import ingest
from specvi_benchmark.archive.ingest.ingest import refusals
from specvi_benchmark.archive.ingest.listing import Found, list_files, steps
from specvi_benchmark.archive.ingest.seen import Seen
from specvi_benchmark.archive.labelling import label_archive
from specvi_benchmark.archive.store import Store
from specvi_benchmark.cli.main import main
from specvi_benchmark.errors import UserError
from specvi_benchmark.surveys.reading import read_spectra
from specvi_benchmark.surveys.sample_files import desi_spectra, lamost_array, lamost_coadd, sdss_spec


def lamost(path, obsid, seed=None, write=lamost_coadd):
    plain = path.with_name(f"{path.name}.plain")
    write(plain, obsid if seed is None else seed)
    fits.setval(plain, "OBSID", value=obsid)
    content = plain.read_bytes()
    plain.unlink()
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)


@pytest.fixture
def survey(tmp_path):
    folder = tmp_path / "files"
    (folder / "night").mkdir(parents=True)
    for number in range(6):
        lamost(folder / "night" / f"spec-{number}.fits.gz", 1000 + number)
    lamost(folder / "old.fits", 2000, write=lamost_array)
    sdss_spec(folder / "spec-0001.fits")
    desi_spectra(folder / "coadd.fits", targets=5)
    (folder / "notes.txt").write_text("seen on a clear night\n")
    (folder / "cut.fits.gz").write_bytes((folder / "night" / "spec-0.fits.gz").read_bytes()[:5000])
    (folder / ".unfinished").write_bytes(b"half")
    return folder


def content(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_everything_readable_enters_and_the_rest_is_listed(survey, tmp_path):
    done = ingest([survey], tmp_path / "archive")
    store = Store.open(tmp_path / "archive")
    assert (done.files, done.spectra, done.in_archive) == (11, 13, 13)
    assert store.spectra == 13
    assert sum(done.refused.values()) == 2
    found = refusals(tmp_path / "archive")
    assert {file.rsplit("/", 1)[-1] for file in found} == {"notes.txt", "cut.fits.gz"}
    with (tmp_path / "archive" / "refused.csv").open(newline="") as text:
        rows = list(csv.DictReader(text))
    assert {row["file"]: [row["reason"]] for row in rows} == found
    assert "gzip" in next(reasons[0] for file, reasons in found.items() if file.endswith("cut.fits.gz"))


def test_spectra_are_found_by_id_as_their_file_gives_them(survey, tmp_path):
    ingest([survey], tmp_path / "archive")
    store = Store.open(tmp_path / "archive")
    ids = [id_ for shard in store.ids() for id_ in shard]
    assert len(set(ids)) == 13
    (read,) = read_spectra(survey / "night" / "spec-3.fits.gz").spectra
    found = store.get("lamost:DR10:1003")
    assert found.flux.tobytes() == read.flux.tobytes()
    assert found.name == "spec-3.fits.gz"
    places = [store.place(id_) for id_ in ids]
    for id_, spectrum in zip(reversed(ids), store.read(places[::-1]), strict=True):
        assert store.get(id_).flux.tobytes() == spectrum.flux.tobytes()
    with pytest.raises(UserError, match="no such spectrum"):
        store.get("lamost:DR10:1")


def test_spectra_by_place_are_those_read_in_order(tmp_path):
    """Over the borders of row groups and shards, of one length and of many, wherever one begins."""
    folder = tmp_path / "files"
    folder.mkdir()
    desi_spectra(folder / "coadd.fits", targets=230)
    sdss_spec(folder / "spec.fits")
    for number in range(3):
        lamost(folder / f"{number}.fits", 10 + number, write=lamost_array if number else lamost_coadd)
    ingest([folder], tmp_path / "archive")
    store = Store.open(tmp_path / "archive")
    whole = {
        (number, row): spectrum
        for number in range(len(store.shards))
        for row, spectrum in enumerate(store.read_shard(number))
    }
    assert len(whole) == 234
    ids = [id_ for shard in store.ids() for id_ in shard]
    asked = random.Random(4).sample(sorted(whole), 60)
    asked += [*asked[:5], (0, 0), (0, 0)]
    for place, spectrum in zip(asked, store.read(asked), strict=True):
        by_id = store.get(ids[sorted(whole).index(place)])
        for array in ("wavelength_AA", "flux", "ivar", "mask"):
            np.testing.assert_array_equal(getattr(spectrum, array), getattr(whole[place], array))
            np.testing.assert_array_equal(getattr(by_id, array), getattr(whole[place], array))
        assert spectrum.survey_id == whole[place].survey_id


def test_a_second_run_opens_nothing_and_changes_nothing(survey, tmp_path, monkeypatch):
    ingest([survey], tmp_path / "archive")
    before = content(tmp_path / "archive")

    def never(*_args, **_more):
        raise AssertionError("a known file was opened")

    monkeypatch.setattr("specvi_benchmark.archive.ingest.step.read_spectra", never)
    done = ingest([survey], tmp_path / "archive")
    assert (done.files, done.known, done.spectra, done.in_archive) == (0, 11, 0, 13)
    assert content(tmp_path / "archive") == before


def test_new_files_extend_and_old_shards_stay(survey, tmp_path):
    ingest([survey], tmp_path / "archive")
    before = content(tmp_path / "archive" / "shards")
    lamost(survey / "spec-new.fits.gz", 3000)
    done = ingest([survey], tmp_path / "archive")
    assert (done.files, done.known, done.spectra, done.in_archive) == (1, 11, 1, 14)
    after = content(tmp_path / "archive" / "shards")
    assert before.items() <= after.items()
    assert Store.open(tmp_path / "archive").get("lamost:DR10:3000").survey_id == "3000"


def test_a_copy_is_left_out_and_another_spectrum_of_that_id_is_kept(survey, tmp_path):
    archive = tmp_path / "archive"
    ingest([survey], archive)
    more = tmp_path / "more"
    more.mkdir()
    plain = gzip.decompress((survey / "night" / "spec-1.fits.gz").read_bytes())
    (more / "a-copy.fits").write_bytes(plain)
    lamost(more / "b-again.fits.gz", 1002, seed=77)
    lamost(more / "c-own.fits.gz", 4000)
    done = ingest([more], archive)
    assert (done.spectra, done.repeated, done.renamed, done.in_archive) == (2, 1, 1, 15)
    (told,) = [reasons for file, reasons in refusals(archive).items() if file.endswith("a-copy.fits")]
    assert told == ["lamost:DR10:1001: the same spectrum is there already"]
    store = Store.open(archive)
    (name,) = [id_ for ids in store.ids() for id_ in ids if id_.startswith("lamost:DR10:1002~")]
    (given,) = read_spectra(more / "b-again.fits.gz").spectra
    assert store.get(name).flux.tobytes() == given.flux.tobytes()
    assert store.get("lamost:DR10:1002").flux.tobytes() != given.flux.tobytes()
    (more / "b-again.fits.gz").touch()  # looks new, and is not
    again = ingest([more], archive)
    assert (again.files, again.spectra, again.repeated) == (1, 0, 1)


def test_a_list_names_files_by_paths_relative_to_its_folder(survey, tmp_path):
    listed = survey / "chosen.lst"
    listed.write_text("night/spec-2.fits.gz\n\nnight/spec-4.fits.gz\n")
    done = ingest([listed], tmp_path / "archive")
    assert (done.files, done.spectra) == (2, 2)
    whole = ingest([survey], tmp_path / "archive")
    assert whole.known == 2
    listed.write_text("night/spec-2.fits.gz\nnight/spec-99.fits.gz\n")
    with pytest.raises(UserError) as caught:
        list(list_files(listed))
    assert caught.value.where.endswith("chosen.lst, line 2")


def test_links_that_lead_nowhere_or_in_circles_are_told_and_stop_nothing(survey, tmp_path):
    (survey / "itself").symlink_to("itself")
    (survey / "round").symlink_to(".")
    (survey / "gone").symlink_to("nothing-here")
    (survey / "same.fits").symlink_to("old.fits")
    os.mkfifo(survey / "pipe")
    done = ingest([survey], tmp_path / "archive")
    assert done.spectra == 6 + 1 + 1 + 5
    assert done.repeated == 1  # the file behind a link is read
    told = {Path(file).name: reasons[0] for file, reasons in refusals(tmp_path / "archive").items()}
    assert "symbolic links" in told["itself"]
    assert "folder" in told["round"]
    assert told["gone"] == "no such file"
    assert "pipe" in told["pipe"]
    assert ingest([survey], tmp_path / "archive").files == 0


def test_a_file_that_goes_while_a_folder_is_walked_is_passed_over(survey, tmp_path):
    found = list_files(survey)
    next(found)
    (survey / "spec-0001.fits").unlink()
    assert "spec-0001.fits" not in {Path(file.file).name for file in found}


def test_names_of_any_bytes_enter_once(tmp_path):
    folder = tmp_path / "with blank\nand line, ü"
    folder.mkdir()
    lamost(folder / os.fsdecode(b"spec\xff.fits"), 5)
    lamost(folder / 'a "b"; c\nd.fits', 6)
    (folder / os.fsdecode(b"notes\xfe")).write_text("no spectrum")
    plain = 3000.0 + np.arange(200)
    text = "\n".join(f"{one} {flux}" for one, flux in zip(plain, np.sin(plain) + 2, strict=True))
    (folder / os.fsdecode(b"sky\xfc.txt")).write_text(f"# wavelength flux\n{text}\n")
    done = ingest([folder], tmp_path / "archive", medium="vacuum")
    assert (done.spectra, sum(done.refused.values())) == (3, 1)
    with (tmp_path / "archive/refused.csv").open(newline="", encoding="utf-8") as stream:
        assert [Path(row[0]).name for row in csv.reader(stream)][1:] == ["notes\\xfe"]
    store = Store.open(tmp_path / "archive")
    assert store.get("file:sky\\xfc.txt:0").name == "sky\\xfc.txt"
    assert ingest([folder], tmp_path / "archive").files == 0


def test_unfinished_files_of_a_screening_are_its_own(survey, tmp_path):
    ingest([survey], tmp_path / "archive")
    running = tmp_path / "archive/screened/.abc.parquet.x.tmp"
    running.parent.mkdir()
    running.write_bytes(b"half")
    killed = tmp_path / "archive/shards/.x.parquet.y.tmp"
    killed.write_bytes(b"half")
    ingest([survey], tmp_path / "archive")
    assert running.exists()
    assert not killed.exists()


def test_an_archive_inside_the_folder_does_not_ingest_itself(survey, tmp_path):
    ingest([survey], survey / "archive")
    before = content(survey / "archive")
    assert ingest([survey], survey / "archive").files == 0
    assert content(survey / "archive") == before
    assert {Path(file).name for file in refusals(survey / "archive")} == {"notes.txt", "cut.fits.gz"}


def test_a_list_of_another_system_is_read(survey, tmp_path):
    (survey / "list.txt").write_bytes("\ufeffold.fits\r\n\r\nold.fits\r\n".encode())
    assert ingest([survey / "list.txt"], tmp_path / "archive").spectra == 1


def test_refused_files_are_tried_again_when_asked(survey, tmp_path):
    archive = tmp_path / "archive"
    table = survey / "table.csv"
    lines = [f"{4000 + n},{1 + n % 3}" for n in range(50)]
    table.write_text("wavelength,flux\n" + "\n".join(lines) + "\n")
    first = ingest([survey], archive)
    assert sum(first.refused.values()) == 3
    assert ingest([survey], archive, medium="vacuum").files == 0
    again = ingest([table], archive, medium="vacuum", retry=True)
    assert (again.files, again.spectra) == (1, 1)
    assert not any(file.endswith("table.csv") for file in refusals(archive))


def test_a_fault_of_a_reader_stops_nothing(survey, tmp_path, monkeypatch):
    def odd(path, **more):
        if str(path).endswith("spec-2.fits.gz"):
            raise ZeroDivisionError("odd file")
        return read_spectra(path, **more)

    monkeypatch.setattr("specvi_benchmark.archive.ingest.step.read_spectra", odd)
    done = ingest([survey], tmp_path / "archive")
    assert done.spectra == 12
    assert done.refused["a fault of the reader: ZeroDivisionError: odd file"] == 1


def test_only_one_process_ingests(survey, tmp_path):
    archive = tmp_path / "archive"
    Store.create(archive)
    with (archive / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(UserError, match="another process is ingesting"):
            ingest([survey], archive)
        with pytest.raises(UserError, match="or labelling it"):
            label_archive(archive, "classes", "a test", {})


def test_steps_are_bounded_in_files_and_bytes():
    files = [Found(f"f{n}", 100 * 2**20 if n % 3 == 0 else 1, 0) for n in range(2000)]
    found = list(steps(files))
    assert [file for step in found for file in step] == files
    assert all(len(step) <= 500 for step in found)
    assert all(sum(file.bytes for file in step) <= 256 * 2**20 for step in found)
    assert len(list(steps([Found("huge", 2**40, 0)]))) == 1


def test_seen_numbers_are_as_a_set_has_them(monkeypatch):
    monkeypatch.setattr("specvi_benchmark.archive.ingest.seen._FEWEST", 50)
    rng = np.random.default_rng(3)
    numbers = rng.integers(0, 2**64, 1000, dtype=np.uint64).tolist()
    seen, oracle = Seen(), set()
    for number in numbers:
        seen.add(number)
        oracle.add(number)
    assert all(number in seen for number in oracle)
    others = rng.integers(0, 2**64, 1000, dtype=np.uint64).tolist()
    assert [number in seen for number in others] == [number in oracle for number in others]


def test_the_command_tells_what_it_did(survey, tmp_path, capsys, monkeypatch):
    command = ["specvi", "archive", "ingest", str(survey), "--into", str(tmp_path / "a"), "--processes", "1"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr().out
    assert ended.value.code == 0
    assert "13 spectra entered; 13 in the archive" in told
    assert "2 files refused" in told
    assert "refused.csv" in told
    monkeypatch.setattr(sys, "argv", [*command, "--json"])
    with pytest.raises(SystemExit):
        main()
    assert json.loads(capsys.readouterr().out)["known"] == 11


def many(folder):
    folder.mkdir()
    for number in range(60):
        lamost(folder / f"spec-{number:03d}.fits.gz", 1000 + number)
    shutil.copy(folder / "spec-003.fits.gz", folder / "z-copy.fits.gz")


SMALL_STEPS = (
    "import specvi_benchmark.archive.ingest.listing as l; l.FILES_AT_ONCE = 4; "
    "import specvi_benchmark.archive.store.blocks as b, time; w = b.write_block; "
    "import specvi_benchmark.archive.ingest.ingest as i; "
    "i.write_block = lambda *a: (time.sleep(0.05), w(*a)); "
    "from specvi_benchmark.cli.main import main; main()"
)


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_with_the_same_bytes(tmp_path):
    many(tmp_path / "files")
    command = [sys.executable, "-c", SMALL_STEPS, "archive", "ingest", str(tmp_path / "files")]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run([*command, "--into", str(whole), "--processes", "1"], check=True, **quiet)
    rng = random.Random(9)
    again = [*command, "--into", str(killed), "--processes", "2"]
    for reached in (1, 5, 10):
        process = subprocess.Popen(again, **quiet)
        while len(list((killed / "blocks").glob("*.parquet"))) < reached:
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(again, check=True, **quiet)
    assert content(killed) == content(whole)
    assert Store.open(killed).spectra == 60
