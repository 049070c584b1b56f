"""docs/formats.md: its tables are up to date, and its example is a whole format."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

from specvi_benchmark.errors import UserError
from specvi_benchmark.surveys import formats, read_spectrum, registry
from specvi_benchmark.surveys.page import main, tables, with_tables
from specvi_benchmark.surveys.registry import all_formats

PAGE = Path(__file__).resolve().parents[2] / "docs" / "formats.md"


def test_the_tables_of_the_page_are_up_to_date(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert with_tables(text) == text, "run: python -m specvi_benchmark.surveys.page docs/formats.md"
    copy = tmp_path / "formats.md"
    copy.write_text(text.replace("| `sdss-spec` |", "| `sdss-spec`, as it was |"), encoding="utf-8")
    main([str(copy)])
    assert copy.read_text(encoding="utf-8") == text


def test_every_format_has_one_line_and_every_line_as_many_cells_as_its_head() -> None:
    written = tables()
    for known in all_formats():
        assert written.count(f"\n| `{known.name}` |") == 1
    for table in written.split("\n\n"):
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(cells) == 1


def test_a_page_without_a_place_for_the_tables_is_refused() -> None:
    with pytest.raises(UserError, match="no place"):
        with_tables("# A page\n")


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the page's example into a file of its own, where formats are looked for."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (code,) = (block for block in blocks if "FORMAT = Format(" in block)
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "halfmetre.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(folder)])
    all_formats.cache_clear()
    registry._told.clear()
    yield
    sys.modules.pop(f"{formats.__name__}.halfmetre", None)
    all_formats.cache_clear()
    registry._told.clear()


def write(path: Path, telescope: str) -> None:
    wave = np.arange(400.0, 500.0)
    sigma = np.full(100, 0.5)
    sigma[3] = 0.0
    columns = {"NANOMETRE": wave, "FLUX": wave / 100, "SIGMA": sigma}
    header = fits.Header(
        {"TELESCOP": telescope, "OBJECT": "SS Cyg", "RA": 325.678, "DEC": 43.586, "CLASS": "CV"}
    )
    table = fits.BinTableHDU.from_columns(
        [fits.Column(key, "D", array=values) for key, values in columns.items()]
    )
    fits.HDUList([fits.PrimaryHDU(header=header), table]).writeto(path)


@pytest.mark.usefixtures("example")
def test_the_example_of_the_page_is_a_whole_format_in_one_file(tmp_path: Path) -> None:
    write(tmp_path / "a.fits", "HALFMETRE")
    spectrum = read_spectrum(tmp_path / "a.fits")
    assert spectrum.format == "halfmetre"
    # 4000 Å in air are 4001.13 Å in vacuum (Morton 1991; IAU standard).
    assert spectrum.wavelength_AA[0] == pytest.approx(4001.13, abs=0.01)
    assert spectrum.ivar[0] == 4.0
    assert np.flatnonzero(spectrum.mask).tolist() == [3]
    assert (spectrum.survey_id, spectrum.ra_deg, spectrum.claims.object_class) == ("SS Cyg", 325.678, "CV")
    assert "| `halfmetre` | HALFMETRE in TELESCOP" in tables()


def test_without_the_file_the_format_is_not_known(tmp_path: Path) -> None:
    write(tmp_path / "a.fits", "HALFMETRE")
    try:
        assert read_spectrum(tmp_path / "a.fits").format != "halfmetre"
    except UserError as error:
        assert "halfmetre" not in (error.expected or "")  # noqa: PT017  # either outcome is right
