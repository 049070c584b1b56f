"""Fetching through a local server that speaks the surveys' address schemes and misbehaves."""

import email.utils
import gzip
import hashlib
import importlib.util
import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from astropy.io import fits

from specvi_benchmark.archive.fetch import Asked, Politeness, estimate, fetch, get_scheme
from specvi_benchmark.archive.fetch.asked import Cone, ask
from specvi_benchmark.archive.fetch.client import asked_to_wait_s
from specvi_benchmark.errors import UserError
from specvi_benchmark.surveys import read_spectra
from specvi_benchmark.surveys.sample_files import desi_spectra, lamost_coadd, sdss_spec

SERVER = Path(__file__).resolve().parents[1] / "servers" / "survey_server.py"
FAST = Politeness(1000, 4, attempts=4, first_pause_s=0.01, longest_pause_s=3, stall_s=2)


def server_class():
    name = "specvi_survey_server"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, SERVER)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name].SurveyServer


@pytest.fixture
def server():
    with server_class()() as running:
        yield running


@pytest.fixture(scope="module")
def lamost_files(tmp_path_factory):
    """Return gzipped LAMOST files by obsid."""
    folder = tmp_path_factory.mktemp("lamost")
    made = {}
    for number in range(3):
        obsid = 353301001 + number
        path = folder / f"{obsid}.fits"
        lamost_coadd(path, seed=number)
        fits.setval(path, "OBSID", value=obsid)
        made[str(obsid)] = gzip.compress(path.read_bytes(), mtime=0)
    return made


def api(obsid):
    return f"/openapi/dr10/v2.0/lrs/spectrum/fits?obsid={obsid}"


def page(obsid):
    return f"/dr10/v2.0/spectrum/fits/{obsid}"


def kept(archive, obsid):
    return archive / "lamost/dr10_v2.0/spectra/3533" / f"{obsid}.fits.gz"


def serve_lamost(server, files):
    server.files |= {api(obsid): content for obsid, content in files.items()}


def get(server, archive, ids, politeness=FAST, survey="lamost", release=None, **options):
    scheme = get_scheme(survey, release, server.address)
    return fetch(scheme, ask(scheme, ids), archive, politeness, **options)


def log_lines(archive, folder="lamost/dr10_v2.0"):
    return [json.loads(line) for line in (archive / folder / "fetch.jsonl").read_text().splitlines()]


def spectra_of(archive):
    return {
        path.name for path in archive.rglob("*") if path.is_file() and path.parent.parent.name == "spectra"
    }


def test_files_arrive_as_they_are_and_only_once(server, lamost_files, tmp_path):
    serve_lamost(server, lamost_files)
    summary = get(server, tmp_path, [*lamost_files, *lamost_files])
    assert (summary.done, summary.absent, summary.failed) == (3, 0, 0)
    for obsid, content in lamost_files.items():
        assert kept(tmp_path, obsid).read_bytes() == content
        assert read_spectra(kept(tmp_path, obsid)).spectra[0].survey_id == obsid
        assert server.count(api(obsid)) == 1
    lines = {line["key"]: line for line in log_lines(tmp_path)}
    assert {key: line["sha256"] for key, line in lines.items()} == {
        obsid: hashlib.sha256(content).hexdigest() for obsid, content in lamost_files.items()
    }
    assert {tuple(line["checked"]) for line in lines.values()} == {("crc", "structure", "identity")}
    again = get(server, tmp_path, list(lamost_files))
    assert (again.done, again.already) == (0, 3)
    assert len(server.requests) == 3
    assert list(tmp_path.rglob(".*.part*")) == []


@pytest.mark.parametrize(
    "fault", ["cut", "cut without length", "flip", "503", "500", "429 0", "login", "hang up", "other object"]
)
def test_a_bad_answer_never_enters_and_the_right_one_does(server, lamost_files, tmp_path, fault):
    serve_lamost(server, lamost_files)
    obsid, other = list(lamost_files)[:2]
    server.faults[api(obsid)] = [lamost_files[other] if fault == "other object" else fault]
    summary = get(server, tmp_path, [obsid])
    assert summary.done == 1
    assert kept(tmp_path, obsid).read_bytes() == lamost_files[obsid]
    assert server.count(api(obsid)) == 2


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("cut", "Not enough data"),
        ("cut without length", "gzip stream is cut"),
        ("flip", "gzip stream is cut or damaged"),
        ("login", "web page"),
        ("other object", "OBSID is 353301002, not 353301001"),
        ("503", "503"),
        (b"SIMPLE  =                    T", "truncated"),
        (b"", "empty"),
    ],
)
def test_what_stays_bad_is_told_and_leaves_nothing(server, lamost_files, tmp_path, fault, reason):
    serve_lamost(server, lamost_files)
    obsid, other = list(lamost_files)[:2]
    server.always = lamost_files[other] if fault == "other object" else fault
    summary = get(server, tmp_path, [obsid])
    assert (summary.done, summary.failed) == (0, 1)
    assert reason in summary.reasons[obsid]
    assert server.count(api(obsid)) == FAST.attempts
    assert not kept(tmp_path, obsid).exists()
    assert [line["state"] for line in log_lines(tmp_path)] == ["failed"]
    server.always = None
    assert get(server, tmp_path, [obsid]).done == 1


def test_a_cut_download_goes_on_where_it_stopped(server, lamost_files, tmp_path):
    serve_lamost(server, lamost_files)
    obsid = next(iter(lamost_files))
    server.faults[api(obsid)] = ["cut"]
    assert get(server, tmp_path, [obsid]).done == 1
    second = server.requests[1][2]
    start = int(second["Range"].removeprefix("bytes=").rstrip("-"))
    assert 0 < start <= len(lamost_files[obsid]) // 2
    assert second["If-Range"] == f'"{hashlib.md5(lamost_files[obsid]).hexdigest()}"'
    assert kept(tmp_path, obsid).read_bytes() == lamost_files[obsid]


@pytest.mark.parametrize("obstacle", ["no ranges", "weak validator", "changed"])
def test_it_begins_anew_where_the_rest_cannot_be_trusted(server, lamost_files, tmp_path, obstacle):
    serve_lamost(server, lamost_files)
    obsid = next(iter(lamost_files))
    server.faults[api(obsid)] = ["cut"]
    one_try = Politeness(1000, 1, attempts=1, stall_s=2)
    server.ranges = obstacle != "no ranges"
    if obstacle == "weak validator":
        server.etag_of[api(obsid)] = 'W/"1"'
    assert get(server, tmp_path, [obsid], one_try).failed == 1
    content = lamost_files[obsid]
    if obstacle == "changed":  # the survey has packed the same file anew
        content = gzip.compress(gzip.decompress(content), 1, mtime=5)
        server.files[api(obsid)] = content
    assert get(server, tmp_path, [obsid]).done == 1
    assert kept(tmp_path, obsid).read_bytes() == content
    assert ("Range" in server.requests[1][2]) == (obstacle == "changed")


def test_a_rest_that_the_server_does_not_have_is_not_asked_for_again(server, lamost_files, tmp_path):
    """A server without If-Range answers 416 for ever where its file has become shorter than what had come."""
    serve_lamost(server, lamost_files)
    obsid = next(iter(lamost_files))
    server.faults[api(obsid)] = ["cut", "416"]
    assert get(server, tmp_path, [obsid]).done == 1
    assert ["Range" in headers for _, _, headers in server.requests] == [False, True, False]
    assert kept(tmp_path, obsid).read_bytes() == lamost_files[obsid]


def test_a_file_that_does_not_say_whose_it_is_is_told(server, lamost_files, tmp_path):
    """LAMOST's first releases state no usable id."""
    obsid = next(iter(lamost_files))
    path = tmp_path / "plain.fits"
    path.write_bytes(gzip.decompress(lamost_files[obsid]))
    for value in (None, -28762):
        with fits.open(path, mode="update") as hdus:
            hdus[0].header.pop("OBSID", None)
            if value is not None:
                hdus[0].header["OBSID"] = value
        server.files[api(obsid)] = gzip.compress(path.read_bytes())
        summary = get(server, tmp_path / str(value), [obsid])
        assert (summary.done, summary.notes) == (1, {obsid: "the file does not say whose it is"})


def test_a_list_that_names_a_file_twice_asks_once(server, lamost_files, tmp_path):
    serve_lamost(server, lamost_files)
    here, absent, refused = *list(lamost_files)[:1], "353301009", "353301010"
    server.faults[api(refused)] = ["403"]
    one_by_one = Politeness(1000, 1, attempts=1)
    summary = get(server, tmp_path, [here, absent, refused] * 3, one_by_one)
    assert (summary.done, summary.absent, summary.failed) == (1, 1, 1)
    assert [server.count(api(obsid)) for obsid in (here, absent, refused)] == [1, 1, 1]


def test_what_a_mirror_lacks_the_survey_may_have(server, lamost_files, tmp_path):
    obsid = next(iter(lamost_files))
    assert get(server, tmp_path, [obsid]).absent == 1
    with server_class()() as other:
        serve_lamost(other, lamost_files)
        assert get(other, tmp_path, [obsid]).done == 1


def test_an_absent_run_says_nothing_about_another(server, tmp_path):
    sdss_spec(tmp_path / "made.fits")
    header = fits.getheader(tmp_path / "made.fits")
    plate, mjd, fibre = (header[name] for name in ("PLATEID", "MJD", "FIBERID"))
    name = f"spec-{plate:04d}-{mjd}-{fibre:04d}.fits"
    server.files[f"/sas/dr17/sdss/spectro/redux/26/spectra/lite/{plate:04d}/{name}"] = (
        tmp_path / "made.fits"
    ).read_bytes()
    assert get(server, tmp_path, [f"104:{plate}-{mjd}-{fibre}"], survey="sdss").absent == 1
    assert get(server, tmp_path, [f"26:{plate}-{mjd}-{fibre}"], survey="sdss").done == 1


def test_a_service_that_is_gone_is_a_failure_and_no_missing_spectrum(server, tmp_path):
    uuid = "0123456a-0000-0000-0000-000000000000"
    summary = get(server, tmp_path, [uuid], survey="sparcl")
    assert (summary.absent, summary.failed) == (0, 1)
    assert "404" in next(iter(summary.reasons.values()))


def test_searches_wait_as_long_as_the_server_asks(server, tmp_path):
    scheme = get_scheme("lamost", None, server.address)
    path = "/openapi/dr10/v2.0/lrs/voservice/conesearch"
    server.faults[f"{path}?ra=1.0&dec=1.0&sr=1.0"] = ["429 1"]
    table = "<VOTABLE version='1.4'><RESOURCE><TABLE><FIELD name='obsid' datatype='long'/>"
    table += "<DATA><TABLEDATA></TABLEDATA></DATA></TABLE></RESOURCE></VOTABLE>"
    server.answers[path] = lambda *_: table.encode()
    assert fetch(scheme, ask(scheme, cone=Cone(1.0, 1.0, 1.0)), tmp_path, FAST).seen == 0
    assert server.times[1] - server.times[0] >= 1
    server.always = "503 9000"
    with pytest.raises(UserError, match="cone search is not answered"):
        fetch(scheme, ask(scheme, cone=Cone(1.0, 1.0, 1.0)), tmp_path, FAST)
    assert len(server.times) == 3


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7),
        (" 0 ", 0),
        (lambda: email.utils.formatdate(time.time() + 3600, usegmt=True), 3600),
        (lambda: email.utils.formatdate(time.time() + 3600), 3600),  # -0000: no zone is told
        (email.utils.formatdate(0, usegmt=True), 0),
        ("soon", None),
        ("²", None),
        ("", None),
        ("-5", None),
    ],
    ids=[
        "seconds",
        "blanks",
        "date",
        "date without zone",
        "past date",
        "word",
        "superscript",
        "empty",
        "negative",
    ],
)
def test_retry_after_gives_seconds_or_a_date(header, seconds, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    said = header() if callable(header) else header  # a date is of the moment of the test
    try:
        found = asked_to_wait_s(SimpleNamespace(headers={"Retry-After": said}))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert found == (None if seconds is None else pytest.approx(seconds, abs=120))


def test_a_connection_without_bytes_is_given_up(server, lamost_files, tmp_path):
    serve_lamost(server, lamost_files)
    obsid = next(iter(lamost_files))
    server.faults[api(obsid)] = ["stall"]
    summary = get(server, tmp_path, [obsid], Politeness(1000, 1, attempts=2, first_pause_s=0.01, stall_s=0.3))
    assert summary.done == 1
    assert kept(tmp_path, obsid).read_bytes() == lamost_files[obsid]


def test_a_fault_of_the_disk_is_not_blamed_on_the_server(server, lamost_files, tmp_path):
    serve_lamost(server, lamost_files)
    (tmp_path / "lamost/dr10_v2.0").mkdir(parents=True)
    (tmp_path / "lamost/dr10_v2.0/spectra").write_text("a file where a folder should be")
    with pytest.raises(OSError, match="spectra"):
        get(server, tmp_path, list(lamost_files))


def test_a_server_that_is_not_there_is_told(tmp_path, server):
    address = server.address.rsplit(":", 1)[0] + ":9"
    scheme = get_scheme("lamost", None, address)
    summary = fetch(scheme, ask(scheme, ["353301001"]), tmp_path, Politeness(1000, 1, 2, 0.01))
    assert "Cannot connect" in summary.reasons["353301001"]
    with pytest.raises(UserError, match="cone search is not answered"):
        fetch(scheme, ask(scheme, cone=Cone(1.0, 1.0, 1.0)), tmp_path, Politeness(1000, 1, 2, 0.01))


def test_a_second_address_is_asked_where_the_first_has_no_such_file(server, lamost_files, tmp_path):
    obsid = next(iter(lamost_files))
    server.files[page(obsid)] = lamost_files[obsid]
    assert get(server, tmp_path, [obsid]).done == 1
    assert log_lines(tmp_path)[0]["address"] == server.address + page(obsid)


def test_absent_files_are_told_and_not_asked_for_again(server, tmp_path):
    summary = get(server, tmp_path, ["353301009"])
    assert (summary.absent, summary.failed, summary.not_there) == (1, 0, ["353301009"])
    asked = len(server.requests)
    assert get(server, tmp_path, ["353301009"]).absent == 1
    assert len(server.requests) == asked
    get(server, tmp_path, ["353301009"], retry_absent=True)
    assert len(server.requests) == 2 * asked


def test_a_server_that_refuses_is_not_asked_twice_and_is_soon_left_alone(server, tmp_path):
    server.always = "403"
    ids = [str(353301001 + number) for number in range(100)]
    summary = get(server, tmp_path, ids)
    assert summary.stopped is not None
    assert "refused: 403" in next(iter(summary.reasons.values()))
    assert len(server.requests) <= 10 + 2 * FAST.parallel  # what was under way


def test_failures_between_successes_do_not_stop_it(server, lamost_files, tmp_path):
    obsid = next(iter(lamost_files))
    ids = [str(353301001 + number) for number in range(30)]
    server.files |= {api(one): lamost_files[obsid] for one in ids}  # one of thirty is right
    summary = get(server, tmp_path, [*ids[1:9], ids[0], *ids[9:17]], Politeness(1000, 1, attempts=1))
    assert (summary.done, summary.failed, summary.stopped) == (1, 16, None)


def test_rate_and_parallel_requests_stay_within_bounds(server, lamost_files, tmp_path):
    ids = [str(353301001 + number) for number in range(9)]
    server.delay_s = 0.05
    get(server, tmp_path, ids, Politeness(40, 2, attempts=1))
    assert server.most_busy <= 2
    times = np.sort(server.times)
    assert len(times) == 18  # two addresses each
    assert times[-1] - times[0] >= 17 / 40 * 0.95  # clocks differ a little between threads


def test_retry_after_shuts_the_gate_for_everyone(server, lamost_files, tmp_path):
    serve_lamost(server, lamost_files)
    ids = list(lamost_files)
    server.faults[api(ids[0])] = ["429 1"]
    started = time.monotonic()
    assert get(server, tmp_path, ids, Politeness(1000, 1, first_pause_s=0.01)).done == 3
    assert time.monotonic() - started >= 1
    assert server.times[1] - server.times[0] >= 0.95


def test_a_server_that_asks_for_hours_is_left_alone(server, tmp_path):
    server.always = "503 7200"
    summary = get(server, tmp_path, ["353301001"])
    assert "asks to wait 7200 s" in summary.reasons["353301001"]
    assert len(server.requests) == 1


def test_a_limit_counts_files_that_are_not_here(server, lamost_files, tmp_path):
    serve_lamost(server, lamost_files)
    assert get(server, tmp_path, list(lamost_files), limit=2).done == 2
    assert get(server, tmp_path, list(lamost_files), limit=2).done == 1


def test_one_fetch_at_a_time_in_a_folder(server, lamost_files, tmp_path):
    import fcntl

    folder = tmp_path / "lamost/dr10_v2.0"
    folder.mkdir(parents=True)
    with (folder / ".fetch.lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(UserError, match="another fetch"):
            get(server, tmp_path, ["353301001"])


def test_the_token_opens_a_release_and_is_written_nowhere(server, lamost_files, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("SPECVI_LAMOST_TOKEN", "s3cret-token")
    serve_lamost(server, lamost_files)
    obsid = next(iter(lamost_files))
    server.faults[api(obsid)] = ["hang up", "503", "login"]
    assert get(server, tmp_path, [obsid, "353301077"]).done == 1
    assert all("token=s3cret-token" in headers["path as sent"] for _, _, headers in server.requests)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*.jsonl"))
    assert b"s3cret" not in written
    server.always = "403"
    reasons = get(server, tmp_path, ["353301078"]).reasons
    assert "the token does not open it" in reasons["353301078"]
    assert "s3cret" not in str(reasons) + "".join(capfd.readouterr())


def test_a_token_of_any_letters_is_told_nowhere(server, tmp_path, monkeypatch, capfd):
    """In an address it is written in another way, and the library's messages hold addresses."""
    monkeypatch.setenv("SPECVI_LAMOST_TOKEN", "s3cret+a/b==")
    server.always = f"to {server.address}/round?token=s3cret%2Ba/b%3D%3D&x=1"
    reasons = get(server, tmp_path, ["353301078"], Politeness(1000, 1, attempts=1)).reasons
    assert "token=***" in reasons["353301078"]
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert "s3cret" not in written.decode() + str(reasons) + "".join(capfd.readouterr())


def test_a_redirect_to_another_host_takes_no_token_along(server, lamost_files, tmp_path, monkeypatch):
    monkeypatch.setenv("SPECVI_LAMOST_TOKEN", "s3cret-token")
    obsid = next(iter(lamost_files))
    with server_class()() as other:
        other.files["/files/it.fits.gz"] = lamost_files[obsid]
        server.faults[api(obsid)] = [f"to {other.address.replace('127.0.0.1', 'localhost')}/files/it.fits.gz"]
        assert get(server, tmp_path, [obsid]).done == 1
        ((_, _, headers),) = other.requests
        assert headers["path as sent"] == "/files/it.fits.gz"
        assert "s3cret" not in str(headers)


def test_the_token_goes_to_the_survey_only(server, monkeypatch):
    from specvi_benchmark.archive.fetch.client import Client

    monkeypatch.setenv("SPECVI_LAMOST_TOKEN", "s3cret-token")
    client = Client(get_scheme("lamost"), FAST)
    assert client.has_token_for("https://www.lamost.org/dr11/v2.0/spectrum/fits/1")
    assert not client.has_token_for("https://lamost.example.org/dr11/v2.0/spectrum/fits/1")
    assert not Client(get_scheme("sdss"), FAST).has_token_for("https://www.lamost.org/")
    assert "s3cret" not in client.told(ValueError("https://www.lamost.org/?token=s3cret-token"))


def test_a_dry_run_counts_and_fetches_nothing(server, lamost_files, tmp_path):
    serve_lamost(server, lamost_files)
    scheme = get_scheme("lamost", None, server.address)
    get(server, tmp_path, list(lamost_files)[:1])
    server.requests.clear()
    expected = estimate(scheme, ask(scheme, list(lamost_files)), tmp_path, Politeness(4, 4))
    sizes = [len(lamost_files[obsid]) for obsid in list(lamost_files)[1:]]
    assert (expected.files, expected.already, expected.sizes_told) == (2, 1, 2)
    assert expected.size == sum(sizes)
    assert expected.seconds == max(2 / 4, sum(sizes) / 5e6)
    assert {method for method, _, _ in server.requests} == {"HEAD"}


def test_a_catalogue_is_fetched_and_its_gzip_checked(server, tmp_path):
    scheme = get_scheme("lamost", "dr10/v2.0", server.address)
    content = gzip.compress(b"obsid|ra|dec\n101001|332.2|-2.0\n")
    path = "/dr10/v2.0/catdl?name=dr10_v2.0_LRS_cv.csv.gz"
    server.files[path] = content
    server.faults[path] = ["flip", "cut without length"]
    item = scheme.catalogue("LRS_cv")
    assert fetch(scheme, Asked(()), tmp_path, FAST, catalogues=[item]).done == 1
    assert (tmp_path / "lamost/dr10_v2.0/catalogues/dr10_v2.0_LRS_cv.csv.gz").read_bytes() == content
    assert server.count(path) == 3


@pytest.mark.parametrize(
    "content",
    [
        b"obsid|ra|dec\n101001|332.2|-2.0\n",  # its name says gzip
        b'{"error": "no such release"}',
        gzip.compress(b"\xef\xbb\xbf<html><body>Please sign in</body></html>"),
        gzip.compress(b'{"error": "no such release"}'),
        gzip.compress(b"<?xml version='1.0'?><error/>"),
        gzip.compress(b""),
        gzip.compress(gzip.compress(b"obsid|ra|dec\n101001|332.2|-2.0\n")),
        gzip.compress(b"SIMPLE  =                    T"),
    ],
    ids=["plain", "json", "html.gz", "json.gz", "xml.gz", "empty.gz", "gz.gz", "fits.gz"],
)
def test_what_is_no_table_does_not_enter_as_a_catalogue(server, tmp_path, content):
    scheme = get_scheme("lamost", "dr10/v2.0", server.address)
    server.files["/dr10/v2.0/catdl?name=dr10_v2.0_LRS_cv.csv.gz"] = content
    item = scheme.catalogue("LRS_cv")
    summary = fetch(scheme, Asked(()), tmp_path, Politeness(1000, 1, attempts=1), catalogues=[item])
    assert (summary.done, summary.failed) == (0, 1)
    assert list((tmp_path / "lamost/dr10_v2.0").glob("catalogues/*")) == []


def test_sdss_tries_the_other_runs_where_the_run_is_not_known(server, tmp_path):
    made = tmp_path / "made.fits"
    sdss_spec(made)
    name = "10000/spec-10000-57346-0002.fits"
    path = f"/sas/dr17/sdss/spectro/redux/104/spectra/lite/{name}"
    server.files[path] = made.read_bytes()
    summary = get(server, tmp_path / "a", ["10000-57346-2"], survey="sdss")
    assert summary.done == 1
    tried = [asked for _, asked, _ in server.requests]
    assert tried[0] == f"/sas/dr17/eboss/spectro/redux/v5_13_2/spectra/lite/{name}"
    assert (tmp_path / "a/sdss/dr17/spectra" / name).read_bytes() == made.read_bytes()
    # A run that is given is the only one.
    server.requests.clear()
    assert get(server, tmp_path / "b", ["26:10000-57346-2"], survey="sdss").absent == 1
    assert [asked for _, asked, _ in server.requests] == [path.replace("/104/", "/26/")]


def test_published_sums_are_held_against_what_came(server, tmp_path):
    made = tmp_path / "made.fits"
    sdss_spec(made)
    content = bytearray(made.read_bytes())
    path = "/sas/dr17/sdss/spectro/redux/26/spectra/lite/10000/spec-10000-57346-0002.fits"
    server.files[path] = bytes(content)
    # A bit in the data of a plain FITS file: nothing inside tells of it.
    content[20_000] ^= 1
    server.faults[path] = [bytes(content)]
    sums = {"spec-10000-57346-0002.fits": hashlib.sha1(made.read_bytes()).hexdigest()}
    archive = tmp_path / "archive"
    assert get(server, archive, ["26:10000-57346-2"], survey="sdss", sums=sums).done == 1
    assert server.count(path) == 2
    assert log_lines(archive, "sdss/dr17")[0]["checked"] == ["sha1sum", "structure", "identity"]
    kept_file = archive / "sdss/dr17/spectra/10000/spec-10000-57346-0002.fits"
    assert kept_file.read_bytes() == made.read_bytes()


DESI_PLACE = "/public/edr/spectro/redux/fuji/healpix/sv3/dark/260/26065"


def desi_file(path, **keywords):
    desi_spectra(path)
    with fits.open(path, mode="update") as hdus:
        hdus[0].header.update({"SURVEY": "sv3", "PROGRAM": "dark", "HPXPIXEL": 26065, **keywords})
    return path.read_bytes()


def test_desi_files_are_held_against_the_list_beside_them(server, tmp_path):
    content = desi_file(tmp_path / "made.fits")
    path = f"{DESI_PLACE}/coadd-sv3-dark-26065.fits"
    server.files[path] = content
    digest = hashlib.sha256(content).hexdigest()
    server.files[f"{DESI_PLACE}/redux_fuji_healpix_sv3_dark_260_26065.sha256sum"] = (
        f"{'0' * 64}  redrock-sv3-dark-26065.fits\n{digest}  coadd-sv3-dark-26065.fits\n".encode()
    )
    wrong = bytearray(content)
    wrong[-5000] ^= 1
    server.faults[path] = [bytes(wrong)]
    archive = tmp_path / "archive"
    ids = ["sv3-dark-26065", "sv3-dark-26065"]
    assert get(server, archive, ids, survey="desi", release="edr").done == 1
    assert server.count(path) == 2
    assert (archive / "desi/edr/spectra/sv3/dark/260/26065/coadd-sv3-dark-26065.fits").read_bytes() == content
    assert log_lines(archive, "desi/edr")[0]["checked"] == ["sha256sum", "structure", "identity"]


def test_without_a_list_the_checksums_inside_a_fits_file_count(server, tmp_path):
    desi_file(tmp_path / "made.fits")
    with fits.open(tmp_path / "made.fits") as hdus:  # astropy computes DATASUM: the oracle
        hdus.writeto(tmp_path / "summed.fits", checksum=True)
    content = (tmp_path / "summed.fits").read_bytes()
    path = f"{DESI_PLACE}/coadd-sv3-dark-26065.fits"
    wrong = bytearray(content)
    wrong[len(content) // 2] ^= 1
    server.files[path] = content
    server.faults[path] = [bytes(wrong)]
    archive = tmp_path / "archive"
    assert get(server, archive, ["sv3-dark-26065"], survey="desi", release="edr").done == 1
    assert server.count(path) == 2
    assert log_lines(archive, "desi/edr")[0]["checked"] == ["datasum", "structure", "identity"]
    assert log_lines(archive, "desi/edr")[0]["note"] == "no published checksum names it"


def test_a_pixel_of_another_survey_is_refused(server, tmp_path):
    path = f"{DESI_PLACE}/coadd-sv3-dark-26065.fits"
    server.files[path] = desi_file(tmp_path / "made.fits", PROGRAM="bright")
    summary = get(server, tmp_path / "archive", ["sv3-dark-26065"], survey="desi", release="edr")
    assert "PROGRAM is bright, not dark" in summary.reasons["sv3-dark-26065"]


UUIDS = [f"00000000-0000-4000-8000-{number:012d}" for number in range(150)]


def sparcl_answer(_, posted):
    """Answer as SPARCL does: a header, then a record for each id that it knows."""
    known = [
        {
            "sparcl_id": one,
            "specid": int(one[-12:]),
            "data_release": "DESI-DR1",
            "wavelength": [4000.0, 4001.0, 4002.0],
            "flux": [1.0, 2.0, 3.0],
            "ivar": [1.0, 1.0, 0.0],
            "mask": [0, 0, 1],
        }
        for one in posted
        if one in UUIDS
    ]
    return json.dumps([{"status": {"success": True}}, *known]).encode()


def test_sparcl_is_asked_for_a_hundred_at_a_time(server, tmp_path):
    server.answers["/sparc/spectras/"] = sparcl_answer
    stranger = "99999999-0000-4000-8000-000000000000"
    summary = get(server, tmp_path, [*UUIDS, stranger], survey="sparcl", release="DESI-DR1")
    assert (summary.done, summary.failed) == (2, 0)
    assert list(summary.notes.values()) == [f"1 of 51 ids are not known there: {stranger}"]
    files = sorted(tmp_path.rglob("*.json"))
    readings = [read_spectra(path) for path in files]
    assert {s.survey_id for reading in readings for s in reading.spectra} == {str(n) for n in range(150)}
    assert all("dataset_list=DESI-DR1" in path and "format=json" in path for _, path, _ in server.requests)
    assert get(server, tmp_path, [*UUIDS, stranger], survey="sparcl", release="DESI-DR1").already == 2


def test_survey_ids_are_looked_up_in_sparcl_first(server, tmp_path):
    asked = []

    def find(query, posted):
        asked.append(posted)
        wanted = posted["search"][0][1:]
        return json.dumps([{}, *({"sparcl_id": UUIDS[one]} for one in wanted)]).encode()

    server.answers |= {"/sparc/find/": find, "/sparc/spectras/": sparcl_answer}
    assert get(server, tmp_path, ["3", UUIDS[5], "7"], survey="sparcl").done == 1
    assert [one["search"] for one in asked] == [[["specid", 3]], [["specid", 7]]]
    (reading,) = [read_spectra(path) for path in tmp_path.rglob("*.json")]
    assert [spectrum.survey_id for spectrum in reading.spectra] == ["3", "5", "7"]


@pytest.mark.parametrize(
    ("survey", "release", "bad"),
    [
        ("lamost", None, "spec-55859"),
        ("sdss", None, "1-2"),
        ("sdss", None, "999:10000-57346-2"),
        ("sdss", "dr19", "x-59146-1"),
        ("desi", None, "39627000"),
        ("sparcl", None, "no-uuid"),
    ],
)
def test_an_id_of_another_form_is_told(server, tmp_path, survey, release, bad):
    with pytest.raises(UserError) as caught:
        get(server, tmp_path, [bad], survey=survey, release=release)
    assert bad in str(caught.value)
    assert server.requests == []


def test_real_files_arrive_unharmed(server, shared_data, tmp_path):
    """Every real LAMOST and SDSS file that says whose it is, under the addresses of its survey."""
    server.faults.clear()
    lamost, sdss = {}, {}
    for path in sorted((shared_data / "real/lamost").glob("dr*/*.fits*")):
        with fits.open(path) as hdus:
            obsid = hdus[0].header.get("OBSID")
        # Files of the first release do not know their obsid; here they get one.
        obsid = obsid if obsid and obsid > 0 else 900_000_000 + len(lamost)
        lamost.setdefault(str(obsid), path)
    for path in sorted((shared_data / "real/sdss").glob("*lite/spec-*.fits")):
        plate, mjd, fibre = (int(word) for word in path.stem.split("-")[1:])
        run = "eboss/spectro/redux/v5_13_2" if plate >= 3510 else "sdss/spectro/redux/26"
        key = f"/sas/dr17/{run}/spectra/lite/{plate:04d}/spec-{plate:04d}-{mjd}-{fibre:04d}.fits"
        sdss[f"{plate}-{mjd}-{fibre}"] = path
        server.files[key] = path.read_bytes()
    server.files |= {api(obsid): path.read_bytes() for obsid, path in lamost.items()}
    for number, address in enumerate(list(server.files)):
        server.faults[address] = [[], ["cut"], ["503"], ["cut without length"], ["hang up"]][number % 5]
    assert len(lamost) >= 45
    assert len(sdss) >= 15
    got = get(server, tmp_path, list(lamost))
    assert (got.done, got.failed) == (len(lamost), 0)
    assert get(server, tmp_path, list(sdss), survey="sdss").done == len(sdss)
    for obsid, path in lamost.items():
        kept_file = tmp_path / f"lamost/dr10_v2.0/spectra/{int(obsid) // 100_000}/{obsid}.fits.gz"
        assert kept_file.read_bytes() == path.read_bytes()
    fetched = sorted((tmp_path / "sdss/dr17/spectra").rglob("*.fits"))
    assert [path.read_bytes() for path in fetched] == [
        sdss[name].read_bytes()
        for name in sorted(sdss, key=lambda name: f"{int(name.split('-')[0]):04d}/{sdss[name].name}")
    ]


def test_a_real_desi_coadd_proves_itself_by_its_checksums(server, shared_data, tmp_path):
    """Its own DATASUM cards, written by DESI's pipeline, agree with the sum that is computed here."""
    content = (shared_data / "real/desi/coadd/coadd-special-dark-27247.fits").read_bytes()
    place = "/public/dr1/spectro/redux/iron/healpix/special/dark/272/27247/coadd-special-dark-27247.fits"
    server.files[place] = content
    assert get(server, tmp_path, ["special-dark-27247"], survey="desi").done == 1
    assert log_lines(tmp_path, "desi/dr1")[0]["checked"] == ["datasum", "structure", "identity"]
