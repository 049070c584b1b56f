"""Every real file and every library file is read as documented, or refused as documented.

A new format joins by a line of `EXPECTED`: the files it reads, and under which name.
"""

from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.surveys import read_spectra
from specvi_benchmark.surveys.registry import all_formats
from specvi_benchmark.surveys.source import open_source


class Expected(NamedTuple):
    """What becomes of files: ``format`` reads them, or they are refused with a message that has ``refused``.

    ``medium`` is given where files don't say what their wavelengths are measured in. ``pixels`` and
    ``spectra`` are given where they are not the numbers stored: DESI's arms overlap, rows may be errors.
    """

    files: str
    format: str = ""
    refused: str = ""
    medium: str | None = None
    pixels: int | None = None
    spectra: int | None = None


REAL = [
    Expected("lamost/dr[1-8]/*", "lamost-array"),
    Expected("lamost/dr9/*", "lamost-coadd"),
    Expected("lamost/dr1[03]/*", "lamost-coadd"),
    Expected("lamost/mrs_out_of_scope/*", refused="medium-resolution"),
    Expected("sdss/spec_full/*", "sdss-spec"),
    Expected("sdss/spec_lite/*", "sdss-spec"),
    Expected("sdss/eboss_lite/*", "sdss-spec"),
    Expected("sdss/odd/spec-*", "sdss-spec"),
    Expected("sdss/odd/SDSSJ*", "sdss-linetools"),
    Expected("sdss/odd/spPlate*", refused="whole plate"),
    Expected("sdss/spspec_dr7/spSpec*", "sdss-spspec"),
    Expected("sdss/spspec_dr7/cg922*", "sdss-resaved"),
    Expected("sdss/manga/*", refused="one galaxy"),
    Expected("sdss/pipeline_single_csv/*", "text-table", medium="vacuum"),
    Expected("desi/coadd/coadd-*", "desi-spectra", pixels=7781),
    Expected("desi/coadd/spectra-*", "desi-spectra", pixels=7781),
    Expected("desi/coadd/redrock-*", refused="no spectra"),
    Expected("desi/coadd/stack-*", "desi-stack"),
    Expected("desi/desihigh/coadd-*", "desi-table", pixels=7781),
    Expected("desi/desihigh/zbest-*", refused="no spectra"),
    Expected("templates/sdss_pipeline/*", refused="templates to fit with"),
    Expected("templates/redrock/rrtemplate-*", refused="templates to fit with"),
    Expected("templates/redrock/std_templates.fits", "fits-table", medium="vacuum"),
    Expected("templates/pyhammer/*", "fits-table", medium="vacuum"),
    Expected("templates/bochanski/*", "bochanski", medium="vacuum", spectra=1),
    Expected("templates/pickles/*", "pickles"),
    Expected("templates/stelib/*", "stelib"),
    Expected("templates/miles/*", "miles"),
    Expected("templates/sdss_pipeline_csv/*", "text-table", medium="vacuum"),
    Expected("catalogs/*", refused="no wavelength and flux|no known format|a row of the table can't be read"),
    Expected("SOURCES.md", refused="a row of the table can't be read|no known format|no wavelength and flux"),
]

LIBRARY = [
    Expected("calspec/*", "calspec"),
    Expected("miles/*", "miles"),
    Expected("stelib/*", "stelib"),
    Expected("galaxy/*", "fits-table", medium="vacuum"),
    Expected("indous_csv/*", "text-table", medium="vacuum"),
    Expected("oke1990/*", "oke", medium="air"),
    Expected("qso/*.mrt.txt", "mrt", medium="vacuum"),
    Expected("qso/*.csv", "text-table", medium="vacuum"),
    Expected("labels.csv", refused="no wavelength and flux|no known format"),
    Expected("SOURCES.md", refused="no wavelength and flux|no known format|a row of the table can't be read"),
]


def files_of(folder: Path) -> dict[str, Path]:
    return {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}


def the_one(name: str, table: list[Expected]) -> Expected:
    matching = [expected for expected in table if fnmatch(name, expected.files)]
    assert len(matching) == 1, f"{name} is expected by {len(matching)} lines"
    return matching[0]


@pytest.mark.parametrize(("folder", "table"), [("real", REAL), ("library", LIBRARY)])
def test_every_file_is_read_or_refused_as_documented(
    shared_data: Path, folder: str, table: list[Expected]
) -> None:
    outcomes = []
    for name, path in files_of(shared_data / folder).items():
        expected = the_one(name, table)
        try:
            reading = read_spectra(path, medium=expected.medium)
        except UserError as error:
            told = any(phrase in str(error) for phrase in expected.refused.split("|") if phrase)
            outcomes.append(None if told else f"{name}: {error.what}")
            continue
        outcomes.append(None if reading.format == expected.format else f"{name}: read as {reading.format}")
    assert [wrong for wrong in outcomes if wrong] == []
    assert len(outcomes) > 180


@pytest.mark.parametrize(("folder", "table"), [("real", REAL), ("library", LIBRARY)])
def test_files_that_do_not_say_air_or_vacuum_are_asked_about(
    shared_data: Path, folder: str, table: list[Expected]
) -> None:
    for name, path in files_of(shared_data / folder).items():
        if the_one(name, table).medium is not None:
            with pytest.raises(UserError, match="air or in vacuum"):
                read_spectra(path)


def test_pixels_and_ranges_are_those_that_other_tools_measured(described: dict) -> None:
    compared = 0
    for name, item in described.items():
        expected = the_one(name, REAL)
        if not expected.format or item.pixels is None or item.range_AA is None:
            continue
        reading = read_spectra(item.path, medium=expected.medium)
        assert len(reading.spectra) + len(reading.skipped) == (expected.spectra or item.spectra), name
        # Libraries in air are moved to vacuum: about 3 Å up at 10,000 Å.
        slack = 3.5 if reading.format in {"pickles", "stelib", "miles"} else 1.0
        for spectrum in reading.spectra:
            assert spectrum.wavelength_AA.size == (expected.pixels or item.pixels), name
            first, last = spectrum.wavelength_AA[[0, -1]]
            if reading.format != "pickles":  # padded with zeros; described is where flux is above 0
                assert first == pytest.approx(item.range_AA[0], abs=slack), name
            assert last == pytest.approx(item.range_AA[1], abs=slack), name
            compared += 1
    assert compared > 170


def test_each_format_has_a_name_of_its_own_and_says_what_it_does() -> None:
    known = all_formats()
    assert len({one.name for one in known}) == len(known) > 20
    for one in known:
        assert one.recognised_by, one.name
        assert one.leaves_out, one.name


def test_no_file_is_known_to_two_formats(shared_data: Path) -> None:
    for name, path in {**files_of(shared_data / "real"), **files_of(shared_data / "library")}.items():
        source = open_source(path)
        for general in (False, True):
            known = [one.name for one in all_formats() if one.general is general and one.recognises(source)]
            assert len(known) < 2, name
            if known:
                break
