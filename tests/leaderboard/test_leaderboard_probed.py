"""Which system a probe is of, and what is refused."""

import json
import shutil

import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.record import choose_split
from specvi_leaderboard.gather import gather
from specvi_leaderboard.probed import probes_of_folder
from specvi_leaderboard.published import Leaderboard
from specvi_leaderboard.site.probe import probe_data
from specvi_leaderboard.site.write import write_site


@pytest.fixture(scope="module")
def root(make_run_once, make_probe, tmp_path_factory):
    """Return a folder with two runs, and a probe of each vetter."""
    root = tmp_path_factory.mktemp("probed")
    run = make_run_once("reader", 9, 4)
    shutil.copytree(run, root / "reader")
    shutil.copytree(make_run_once("other", 12, 0), root / "other")
    split, reference = choose_split(str(run.parents[1] / "toy"), track="all")
    for name, vetter in (("p-reader", "reader"), ("p-rules", "rules"), ("p-nobody", "nobody")):
        make_probe(split, reference, vetter, root / name)
    return root


def changed(place, to, **values):
    """Copy a probe with other values of its first level, or of its split."""
    content = json.loads((place / "probe.json").read_text())
    content["split"] |= {key: values.pop(key) for key in list(values) if key in content["split"]}
    to.mkdir(parents=True)
    (to / "probe.json").write_text(json.dumps(content | values))
    return to


def of(found):
    names = {system.about.id: system.name for system in found.boards[0].systems}
    return {names[one]: report.vetter for one, report in found.probes[0].items()}


def test_a_probe_is_of_the_system_whose_vetter_it_asked(root):
    runs = [root / "reader", root / "other"]
    assert of(gather(runs)) == {}
    assert of(gather(runs, probes=[root / "p-reader", root / "p-rules" / "probe.json"])) == {
        "reader": "reader",
        "rules": "rules",
    }


def test_a_probe_in_a_run_folder_is_found_and_is_of_that_run(root, tmp_path):
    for name in ("one", "two"):
        shutil.copytree(root / "reader", tmp_path / name)
    shutil.copytree(root / "p-reader", tmp_path / "two" / "probes")
    runs = [tmp_path / "one", tmp_path / "two"]
    assert of(gather(runs)) == {"reader (two)": "reader"}
    with pytest.raises(UserError, match="a probe of more than one system"):
        gather(runs, probes=[root / "p-reader"])
    with pytest.raises(UserError, match="two probes of one system"):
        gather(runs[1:], probes=[root / "p-reader"])


def test_a_probe_of_the_trained_model_is_of_the_run_that_trained_it(root, tmp_path):
    vetter = f"reader:{root / 'reader' / 'model'}"
    assert of(
        gather([root / "reader"], probes=[changed(root / "p-reader", tmp_path / "p", vetter=vetter)])
    ) == {"reader": vetter}
    other = changed(root / "p-reader", tmp_path / "q", vetter=f"reader:{tmp_path / 'model'}")
    with pytest.raises(UserError, match="a probe of another system"):
        gather([root / "reader"], probes=[other])


def test_what_is_of_no_system_or_of_other_spectra_is_refused(root, tmp_path):
    runs = [root / "reader"]
    with pytest.raises(UserError, match="a probe of another system") as caught:
        gather(runs, probes=[root / "p-nobody"])
    assert caught.value.got == "nobody"
    with pytest.raises(UserError, match="a probe over another split"):
        gather(runs, probes=[changed(root / "p-reader", tmp_path / "v", version="2")])
    with pytest.raises(UserError, match="newer"):
        gather(runs, probes=[changed(root / "p-reader", tmp_path / "n", schema_version=9)])
    with pytest.raises(UserError, match="no such file"):
        gather(runs, probes=[tmp_path])


def test_a_leaderboards_folder_has_its_probes_by_id(root, tmp_path):
    board = gather([root / "reader"]).boards[0]
    assert probes_of_folder(tmp_path, [board], set()) == ({},)
    shutil.copytree(root / "p-rules", tmp_path / "probes" / "rules")
    (found,) = probes_of_folder(tmp_path, [board], set())
    assert {one: report.vetter for one, report in found.items()} == {"rules": "rules"}
    shutil.copytree(root / "p-rules", tmp_path / "probes" / "ruels")
    with pytest.raises(UserError, match="a probe of a system that no board has"):
        probes_of_folder(tmp_path, [board], set())
    assert probes_of_folder(tmp_path, [board], {"ruels"}) == (found,)  # withdrawn: its probe may stay


def test_the_page_gets_the_numbers_of_the_report(root):
    report = gather([root / "reader"], probes=[root / "p-reader"]).probes[0]
    (report,) = report.values()
    of_model = report.model_copy(update={"vetter": "reader:/srv/somebody/model"})
    assert probe_data(of_model)["vetter"] == "reader"
    made = probe_data(report)
    masked = next(one for one in made["probes"] if one["name"] == "masked" and one["against"] is None)
    task, truth, n, before, after, change = masked["moves"][0]
    assert (task, truth, n, before, after) == (
        None,
        "YES",
        60,
        60,
        5,
    )  # 12 members of five tasks, one of each left
    move = report.of("masked", "plain", "YES")
    assert change == [round(10_000 * value) for value in (move.yes.value, move.yes.low, move.yes.high)]
    assert masked["honest"] == "no YES"
    against = next(one for one in made["probes"] if one["name"] == "masked" and one["against"] is not None)
    assert against["honest"] == "fewer YES"
    assert [move[0] for move in masked["moves"] if move[1] == "NO"] == [None, "cv", "cs", "ss", "mg", "wd"]


def test_the_published_file_holds_what_the_page_of_a_system_shows(root, tmp_path):
    found = gather([root / "reader", root / "other"], probes=[root / "p-reader"])
    write_site(found, tmp_path, with_candidates=False)
    (board,) = Leaderboard.model_validate_json((tmp_path / "leaderboard.json").read_text()).boards
    probed = {system.name: system.probes for system in board.systems if system.probes}
    assert list(probed) == ["reader"]
    (report,) = found.probes[0].values()
    made = probed["reader"]
    assert (made.moves, made.asked, made.not_asked) == (report.moves, report.asked, report.not_asked)
    assert (made.candidates, made.seed, made.part) == (report.candidates, 7, report.split.part)
    shown = probe_data(report)
    assert list(made.sentences) == shown["sentences"]
    for one in shown["probes"]:  # every move on the page is one of the file
        for task, truth, n, before, after, _ in one["moves"]:
            assert any(
                (m.probe, m.task, m.truth, m.candidates, m.yes_before, m.yes_after)
                == (one["name"], task or "all", truth, n, before, after)
                for m in made.moves
            )
    text = (tmp_path / "leaderboard.json").read_text()
    assert str(root) not in text  # no path of the machine it was made on
    schema = json.loads((tmp_path / "leaderboard.schema.json").read_text())
    assert {"PublishedProbes", "Move", "OtherTable"} <= set(schema["$defs"])
