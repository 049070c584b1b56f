"""The nine tasks: official names, features in their windows, numbers that a guideline quotes."""

import csv
import re

import numpy as np
import pytest
from astropy.io import fits

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import validate
from specvi_benchmark.lines import air_to_vacuum, all_bands, all_lines, get_band, get_line
from specvi_benchmark.tasks import TASK_KEYS, Task, all_tasks, get_task

EVERY_TASK = pytest.mark.parametrize("task", all_tasks(), ids=TASK_KEYS)


def _extent(name):
    """Return the vacuum range of a line or band by its name."""
    try:
        line = get_line(name)
    except UserError:
        band = get_band(name)
        return band.name, band.vacuum_AA, band.end_AA or band.vacuum_AA
    return line.name, line.vacuum_AA, line.vacuum_AA


def _texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key != "sources":
                yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


class TestNames:
    @pytest.mark.parametrize(
        ("key", "class_name", "data_source"),
        [
            ("cv", "Cataclysmic Variables (CV)", "cv"), ("cs", "Carbon Star (C-type)", "carbon"),
            ("ss", "S-type Star", "ss"), ("mg", "M-type Giant (gM)", "gm"), ("wd", "White Dwarf (WD)", "wd"),
        ],
    )  # fmt: skip
    def test_official_spellings(self, key, class_name, data_source):
        """As on the card of the published benchmark."""
        task = get_task(key)
        assert (task.class_name, task.data_source, task.track) == (class_name, data_source, "main")

    def test_tracks_and_frames(self):
        assert {task.key: task.track for task in all_tasks()} == {
            "cv": "main", "cs": "main", "ss": "main", "mg": "main", "wd": "main",
            "o": "cross-task", "b": "cross-task", "a": "cross-task", "qso": "extreme",
        }  # fmt: skip
        assert [task.key for task in all_tasks() if task.frame == "observed"] == ["qso"]

    @pytest.mark.parametrize(
        ("spelling", "key"),
        [
            ("cc", "cs"), ("carbon", "cs"), ("Carbon Star (C-type)", "cs"), ("carbon star", "cs"), ("gm", "mg"),
            ("gM", "mg"), (" GM ", "mg"), ("M-type_giant", "mg"), ("WD", "wd"), ("white dwarf", "wd"),
            ("s-type star", "ss"), ("Cataclysmic Variables (CV)", "cv"), ("QSO", "qso"), ("Quasar", "qso"),
            ("O-type star", "o"), ("B", "b"), ("a", "a"),
        ],
    )  # fmt: skip
    def test_spellings(self, spelling, key):
        assert get_task(spelling).key == key

    def test_no_spelling_is_claimed_twice(self):
        def fold(name):
            return name.casefold().replace("-", " ")

        owners: dict[str, set[str]] = {}
        for task in all_tasks():
            for name in (task.key, task.class_name, task.data_source, *task.aliases):
                owners.setdefault(fold(name), set()).add(task.key)
        assert all(len(keys) == 1 for keys in owners.values())

    def test_unknown_task(self):
        with pytest.raises(UserError, match="no such task") as caught:
            get_task("supernova")
        assert "cv, cs, ss" in caught.value.expected


class TestContent:
    @EVERY_TASK
    def test_windows_lie_in_the_survey_range(self, task):
        for window in task.windows:
            low, high = window.range_AA
            assert 3700 <= low < high <= 9100
            assert high - low >= 40

    @EVERY_TASK
    def test_windows_contain_what_their_label_names(self, task):
        for window in task.windows:
            if task.frame == "observed" and re.match(r"(Blue|Middle|Red): ", window.label):
                continue  # a search range, checked below by the redshifts it names
            for name in window.label.split(", "):
                known, low, high = _extent(name)
                assert known == name
                assert window.range_AA[0] + 5 <= low
                assert high <= window.range_AA[1] - 5

    def test_quasar_windows_name_the_redshifts_that_bring_a_line_there(self):
        checked = 0
        for window in get_task("qso").windows:
            for name, low_z, high_z in re.findall(r"([A-Z][^,]*?) for z ([\d.]+) to ([\d.]+)", window.label):
                line = name.split(": ")[-1]
                rest = {"C IV": "C IV 1549", "C III]": "C III] 1909", "Mg II": "Mg II 2799"}.get(line, line)
                expected = np.array(window.range_AA) / get_line(rest).vacuum_AA - 1
                np.testing.assert_allclose([float(low_z), float(high_z)], expected, atol=0.05)
                checked += 1
        assert checked >= 9

    def test_quasar_guideline_quotes_true_ratios(self):
        ratios = re.findall(
            r"([A-Z]\S*(?: [IV]+\]? \d{4})?) over ([A-Z]\S*(?: [IV]+\]? \d{4})?) is ([\d.]+\d)",
            get_task("qso").guideline,
        )
        assert len(ratios) == 4
        for upper, lower, ratio in ratios:
            assert get_line(upper).vacuum_AA / get_line(lower).vacuum_AA == pytest.approx(
                float(ratio), abs=5e-4
            )

    @EVERY_TASK
    def test_every_feature_named_anywhere_is_in_the_list_by_that_name(self, task):
        """He I 5876 or C2 4738 would mix air and vacuum, or be a typing error."""
        kinds = {line.ion for line in all_lines()} | {band.species for band in all_bands()}
        pattern = "|".join(re.escape(kind) for kind in sorted(kinds, key=len, reverse=True))
        named = [
            found
            for text in _texts(task.model_dump(mode="json"))
            for found in re.findall(rf"(?:{pattern}) \d{{4}}\b", text)
        ]
        assert len(named) >= 15
        assert {name for name in named if _extent(name)[0] != name} == set()

    @EVERY_TASK
    def test_every_part_is_there(self, task):
        assert any(indicator.rank == "primary" for indicator in task.indicators)
        assert len(task.confusers) >= 5
        assert len(task.windows) >= 6
        assert task.sources
        assert task.question.startswith("Is this object a")
        assert task.question.endswith("?")

    @EVERY_TASK
    def test_guideline_is_a_procedure(self, task):
        paragraphs = task.guideline.split("\n\n")
        assert len(paragraphs) >= 6
        assert not any("\n" in paragraph or "  " in paragraph for paragraph in paragraphs)
        numbered = [paragraph for paragraph in paragraphs if paragraph[0].isdigit()]
        assert [int(paragraph.split(".")[0]) for paragraph in numbered] == list(range(1, len(numbered) + 1))
        for word in ("S/N", "redshift", "NO", "Quality", "spike" if task.key not in {"ss", "cs"} else "step"):
            assert word in task.guideline

    def test_cv_is_told_in_both_states(self):
        states = {indicator.state for indicator in get_task("cv").indicators if indicator.rank == "primary"}
        assert {"quiescence", "outburst"} <= states

    @pytest.mark.parametrize(
        ("key", "words", "label"),
        [
            ("cv", "AM CVn", "YES"), ("cv", "white dwarf with an M dwarf", "NO"), ("cv", "outburst", "YES"),
            ("cs", "CH star", "YES"), ("cs", "Barium star with weak or no C2", "NO"), ("cs", "DQ", "NO"),
            ("cs", "Dwarf carbon", "YES"), ("cs", "Mira", "YES"), ("cs", "SC star", "undecidable"),
            ("ss", "MS star, ZrO 6474 clear", "YES"), ("ss", "SC star", "undecidable"),
            ("mg", "supergiant", "undecidable"), ("mg", "Carbon star", "NO"), ("mg", "MS star", "undecidable"),
            ("wd", "with an M dwarf", "undecidable"), ("wd", "DQ", "YES"), ("wd", "Hot subdwarf", "NO"),
            ("o", "Hot subdwarf", "NO"), ("b", "Hot subdwarf", "NO"), ("a", "Hot subdwarf", "NO"),
            ("a", "Blue horizontal branch", "undecidable"), ("b", "Blue horizontal branch", "undecidable"),
            ("b", "Be star", "YES"), ("qso", "Broad-absorption-line", "YES"),
        ],
    )  # fmt: skip
    def test_border_cases(self, key, words, label):
        found = [border for border in get_task(key).border_cases if words in border.case]
        assert [border.label for border in found] == [label]
        assert found[0].reason

    def test_a_wrong_key_in_a_task_file_is_told(self):
        record = {**get_task("cv").model_dump(mode="json"), "windws": []}
        with pytest.raises(UserError, match="1 fault in Task") as caught:
            validate(Task, record, "cv.yaml")
        assert "windws" in caught.value.got

    def test_paragraphs_are_unwrapped_on_load(self):
        record = {**get_task("cv").model_dump(), "guideline": "One\nline.\n \n  Two\n  lines.\n"}
        assert validate(Task, record, "cv.yaml").guideline == "One line.\n\nTwo lines."


def test_zro_steps_quoted_for_s_stars_are_those_of_the_library(shared_data):
    """The guideline quotes ranges of flux at 6477-6492 over 6457-6473 Å (vacuum): measure them again."""
    with (shared_data / "library/labels.csv").open() as rows:
        labels = [
            row
            for row in csv.DictReader(rows)
            if row["file"].startswith("miles/") and row["verdict"] == "clear"
        ]
    steps: dict[str, list[float]] = {"SS": [], "MG": []}
    for row in labels:
        if row["class_key"] in steps:
            with fits.open(shared_data / "library" / row["file"]) as hdus:
                flux = hdus[0].data.astype(float).ravel()
                air = hdus[0].header["CRVAL1"] + hdus[0].header["CDELT1"] * np.arange(flux.size)
            wavelength = air_to_vacuum(air)
            after = flux[(wavelength >= 6477) & (wavelength <= 6492)].mean()
            before = flux[(wavelength >= 6457) & (wavelength <= 6473)].mean()
            steps[row["class_key"]].append(after / before)
    assert len(steps["SS"]) == 5
    assert len(steps["MG"]) == 20
    quoted = re.search(
        r"is ([\d.]+) to ([\d.]+), in M giants ([\d.]+) to ([\d.]+),", get_task("ss").guideline
    ).groups()
    measured = [min(steps["SS"]), max(steps["SS"]), min(steps["MG"]), max(steps["MG"])]
    np.testing.assert_allclose([float(value) for value in quoted], measured, atol=0.0075)
