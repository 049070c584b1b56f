"""Wavelength conversion against other published formulas; lines and bands against tables and real spectra."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits
from hypothesis import given
from hypothesis import strategies as st

from specvi_benchmark.errors import UserError
from specvi_benchmark.lines import (
    air_to_vacuum,
    all_bands,
    all_indices,
    all_lines,
    get_band,
    get_index,
    get_line,
    lines_between,
    vacuum_to_air,
)
from specvi_benchmark.lines.lines import fold

# SDSS table of lines, vacuum (classic.sdss.org/dr6/algorithms/linestable.html), made with another formula.
SDSS_VACUUM_AA = {
    "[O II] 3727": 3727.092,
    "[O II] 3730": 3729.875,
    "Ca II K": 3934.777,
    "Ca II H": 3969.588,
    "Hδ": 4102.89,
    "Hγ": 4341.68,
    "Hβ": 4862.68,
    "[O III] 4960": 4960.295,
    "[O III] 5008": 5008.240,
    "[O I] 6302": 6302.046,
    "[O I] 6366": 6365.536,
    "Hα": 6564.61,
    "[N II] 6550": 6549.86,
    "[N II] 6585": 6585.27,
    "[S II] 6718": 6718.29,
    "[S II] 6733": 6732.67,
    "Ca II 8500": 8500.36,
    "Ca II 8544": 8544.44,
    "Ca II 8665": 8664.52,
}


def ciddor_vacuum_to_air(vacuum_AA):
    """Ciddor (1996), the formula of SDSS and of IDL's vactoair."""
    s2 = (1e4 / vacuum_AA) ** 2
    return vacuum_AA / (1 + 5.792105e-2 / (238.0185 - s2) + 1.67917e-3 / (57.362 - s2))


def piskunov_air_to_vacuum(air_AA):
    """VALD's direct fit of the inverse of Morton (2000), by N. Piskunov."""
    s2 = (1e4 / air_AA) ** 2
    n = (
        1
        + 8.336624212083e-5
        + 0.02408926869968 / (130.1065924522 - s2)
        + 1.599740894897e-4 / (38.92568793293 - s2)
    )
    return air_AA * n


class TestWavelengths:
    @pytest.mark.parametrize(
        ("air", "vacuum"), [(6562.80, 6564.61), (5006.84, 5008.24), (4861.33, 4862.69), (3933.66, 3934.777)]
    )
    def test_published_pairs(self, air, vacuum):
        assert air_to_vacuum(air) == pytest.approx(vacuum, abs=0.01)
        assert vacuum_to_air(vacuum) == pytest.approx(air, abs=0.01)

    def test_idl_examples(self):
        assert air_to_vacuum(6056.125) == pytest.approx(6057.8019, abs=0.003)
        assert vacuum_to_air(2000.0) == pytest.approx(1999.353, abs=0.003)

    def test_agrees_with_ciddor_as_promised(self):
        vacuum = np.linspace(3000, 10_000, 2001)
        assert np.abs(vacuum_to_air(vacuum) - ciddor_vacuum_to_air(vacuum)).max() < 0.003

    def test_agrees_with_valds_inverse(self):
        air = np.linspace(2001, 30_000, 3001)
        np.testing.assert_allclose(air_to_vacuum(air), piskunov_air_to_vacuum(air), atol=2e-4, rtol=0)

    @given(st.floats(2000, 100_000))
    def test_round_trip_from_air(self, air):
        assert vacuum_to_air(air_to_vacuum(air)) == pytest.approx(air, rel=4e-16, abs=0)

    @given(st.floats(2000.66, 100_000))
    def test_round_trip_from_vacuum(self, vacuum):
        assert air_to_vacuum(vacuum_to_air(vacuum)) == pytest.approx(vacuum, rel=4e-16, abs=0)

    @given(st.floats(1, 1999.999))
    def test_below_2000_is_left_alone(self, wavelength):
        assert air_to_vacuum(wavelength) == wavelength
        assert vacuum_to_air(wavelength) == wavelength

    def test_shapes_and_kinds(self):
        assert type(air_to_vacuum(5000.0)) is float
        assert type(vacuum_to_air(5000.0)) is float
        grid = np.array([[3700.0, 5000.0], [1500.0, np.nan]])
        for convert in (air_to_vacuum, vacuum_to_air):
            converted = convert(grid)
            assert converted.shape == grid.shape
            assert converted[0, 1] == convert(5000.0)
            assert converted[1, 0] == 1500.0
            assert math.isnan(converted[1, 1])
        assert air_to_vacuum([4000, 5000]).shape == (2,)

    def test_order_is_kept(self):
        air = np.linspace(2000, 12_000, 10_001)
        vacuum = air_to_vacuum(air)
        assert (np.diff(vacuum) > 0).all()
        assert (vacuum > air).all()


class TestLines:
    @pytest.mark.parametrize("line", all_lines(), ids=lambda line: line.name)
    def test_vacuum_and_air_belong_together(self, line):
        if line.vacuum_AA < 2000:
            assert line.air_AA is None
        else:
            assert line.vacuum_AA == pytest.approx(air_to_vacuum(line.air_AA), abs=0.0101)

    @pytest.mark.parametrize(("name", "vacuum"), SDSS_VACUUM_AA.items())
    def test_agrees_with_the_sdss_table(self, name, vacuum):
        assert get_line(name).vacuum_AA == pytest.approx(vacuum, abs=0.015)

    @pytest.mark.parametrize("line", all_lines(), ids=lambda line: line.name)
    def test_named_by_vacuum_wavelength(self, line):
        number = line.name.rsplit(" ", 1)[-1]
        if number.isdigit():
            assert int(number) == pytest.approx(line.vacuum_AA, abs=0.51)
            assert line.name.startswith(line.ion)

    def test_names_and_aliases_are_unambiguous(self):
        spellings = [fold(name) for line in all_lines() for name in (line.name, *line.aliases)]
        assert len(set(spellings)) == len(spellings)
        for line in all_lines():
            for name in (line.name, *line.aliases):
                assert get_line(name) is line

    @pytest.mark.parametrize(
        ("spelling", "name"),
        [
            ("Hα", "Hα"), ("Halpha", "Hα"), ("H-alpha", "Hα"), ("h alpha", "Hα"), ("H I 6565", "Hα"),
            ("HI 6563", "Hα"), ("Hζ", "H8"), ("Lyalpha", "Lyα"),
            ("He I 5877", "He I 5877"), ("HeI 5876", "He I 5877"), ("He I λ5876", "He I 5877"),
            ("he ii 4686", "He II 4687"), ("[OIII]5007", "[O III] 5008"), ("OIII 4959", "[O III] 4960"),
            ("Ca II 8498", "Ca II 8500"), ("Na I D2", "Na D2"), ("Na I 5896", "Na D1"), ("C III] 1908", "C III] 1909"),
            ("[O II] 3727", "[O II] 3727"), ("[O II] 3728", "[O II] 3728"), ("[O II] 3729", "[O II] 3730"),
        ],
    )  # fmt: skip
    def test_usual_spellings(self, spelling, name):
        assert get_line(spelling).name == name

    def test_unknown_line_names_the_nearest(self):
        with pytest.raises(UserError, match="no such line") as caught:
            get_line("He II 4680")
        assert "He II 4687" in caught.value.expected

    def test_lines_between_is_inclusive_and_ordered(self):
        beta, o_iii = get_line("Hβ"), get_line("[O III] 5008")
        found = lines_between(beta.vacuum_AA, o_iii.vacuum_AA)
        assert [line.name for line in found] == [
            "Hβ",
            "He I 4923",
            "Ba II 4935",
            "[O III] 4960",
            "[O III] 5008",
        ]
        assert lines_between(beta.vacuum_AA + 0.01, beta.vacuum_AA + 1) == ()

    def test_sky_lines_are_marked(self):
        sky = {line.name for line in all_lines() if "sky" in line.groups}
        assert {"[O I] 5579", "[O I] 6302", "[O I] 6366", "Na D1", "Na D2", "Hg I 4360", "Hg I 5462"} == sky


class TestBands:
    @pytest.mark.parametrize("band", all_bands(), ids=lambda band: f"{band.name}-{band.system}")
    def test_vacuum_and_air_belong_together(self, band):
        assert band.vacuum_AA == pytest.approx(air_to_vacuum(band.air_AA), abs=0.0051)
        assert band.name == f"{band.species} {band.air_AA:.0f}"
        assert band.end_AA is None or band.end_AA > band.vacuum_AA

    def test_names_are_unique_and_no_lines(self):
        names = [fold(band.name) for band in all_bands()]
        assert len(set(names)) == len(names)
        assert not set(names) & {fold(line.name) for line in all_lines()}

    @pytest.mark.parametrize(
        ("name", "edge"),
        [
            ("C2 5165", "red"), ("TiO 5167", "blue"), ("ZrO 6474", "blue"), ("CN 4216", "red"),
            ("CN 7065", "blue"), ("13C12C 6168", None), ("VO 7334", None),
        ],
    )  # fmt: skip
    def test_edges(self, name, edge):
        if name.startswith("13C"):
            with pytest.raises(UserError, match="no such band"):
                get_band(name)
            assert get_band("12C13C 6168").sharp_edge == "red"
        else:
            assert get_band(name).sharp_edge == edge

    def test_indices_of_two_schemes_agree_where_they_are_the_same(self):
        """PyHammer's windows are the PMSU windows moved to vacuum, so ours must fall on them."""
        for name in ("TiO5", "CaH2", "CaH3"):
            pmsu, pyhammer = get_index(f"PMSU {name}"), get_index(f"PyHammer {name}")
            np.testing.assert_allclose(pmsu.numerator_AA, pyhammer.numerator_AA, atol=0.15)
            np.testing.assert_allclose(pmsu.denominator_AA, pyhammer.denominator_AA, atol=0.15)

    def test_indices(self):
        names = [index.name for index in all_indices()]
        assert len(set(names)) == len(names) == 24
        for index in all_indices():
            for low, high in (*index.numerator_AA, *index.denominator_AA):
                assert 3700 < low < high < 9000
        assert len(get_index("pmsu cah1").denominator_AA) == 2
        with pytest.raises(UserError, match="no such index"):
            get_index("TiO5")


def _miles(shared_data: Path, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return vacuum wavelength and flux of a MILES star (stored in air, at rest)."""
    with fits.open(shared_data / f"library/miles/MILES_res2.50_star_m{number:04d}V.fits") as hdus:
        flux = hdus[0].data.astype(float).ravel()
        air = hdus[0].header["CRVAL1"] + hdus[0].header["CDELT1"] * np.arange(flux.size)
    return air_to_vacuum(air), flux


def _sdss_carbon(shared_data: Path):
    path = shared_data / "real/sdss/pipeline_single_csv/301-51641-305_Carbon.csv"
    wavelength, flux = np.loadtxt(path, delimiter=",", skiprows=1, unpack=True)
    return wavelength, flux


def _step(spectrum, head_AA: float) -> float:
    """Return mean flux 4–18 Å redward of a head over mean flux 4–18 Å blueward."""
    wavelength, flux = spectrum
    blue = (wavelength > head_AA - 18) & (wavelength < head_AA - 4)
    red = (wavelength > head_AA + 4) & (wavelength < head_AA + 18)
    return float(flux[red].mean() / flux[blue].mean())


class TestEdgesOnRealSpectra:
    """MILES HD 187216 is a carbon star, HD 126327 an M7.5 giant, HD 199799 an S star, HD 204587 a late K dwarf."""

    @pytest.mark.parametrize(
        ("star", "name", "contrast"),
        [
            (720, "C2 4383", 1.3), (720, "C2 4737", 1.8), (720, "C2 5165", 2.5), (720, "C2 5636", 1.5),
            (720, "CN 3883", 2.5), (720, "CN 4216", 1.5),
            (508, "TiO 4761", 1.8), (508, "TiO 4954", 3), (508, "TiO 5167", 3), (508, "TiO 5448", 1.8),
            (508, "TiO 5847", 1.5), (508, "TiO 6158", 1.8), (508, "TiO 6651", 1.3), (508, "TiO 7054", 2),
            (508, "TiO 7088", 1.3), (508, "TiO 7126", 1.3),
            (781, "ZrO 6474", 1.4), (781, "ZrO 6345", 1.15), (781, "ZrO 5552", 1.15), (781, "ZrO 4641", 1.2),
            (804, "MgH 5211", 1.2),
        ],
    )  # fmt: skip
    def test_flux_falls_on_the_stated_side(self, shared_data, star, name, contrast):
        band = get_band(name)
        step = _step(_miles(shared_data, star), band.vacuum_AA)
        if band.sharp_edge == "red":
            assert step > contrast
        else:
            assert band.sharp_edge == "blue"
            assert step < 1 / contrast

    @pytest.mark.parametrize("name", ["C2 4737", "C2 5165", "C2 5636"])
    def test_swan_bands_of_a_survey_spectrum(self, shared_data, name):
        assert _step(_sdss_carbon(shared_data), get_band(name).vacuum_AA) > 1.8

    def test_red_cn_of_a_survey_spectrum(self, shared_data):
        assert _step(_sdss_carbon(shared_data), get_band("CN 7876").vacuum_AA) < 0.95

    def test_direction_separates_c2_from_tio_2_AA_apart(self, shared_data):
        c2, tio = get_band("C2 5165"), get_band("TiO 5167")
        assert abs(c2.vacuum_AA - tio.vacuum_AA) < 3
        assert _step(_miles(shared_data, 720), tio.vacuum_AA) > 2
        assert _step(_miles(shared_data, 508), c2.vacuum_AA) < 0.5

    def test_index_windows_separate_giants_from_dwarfs(self, shared_data):
        """At equal TiO5 the sum CaH2 + CaH3 of library giants exceeds that of dwarfs (Zhong et al. 2015)."""
        with (shared_data / "library/labels.csv").open() as rows:
            labels = [row for row in csv.DictReader(rows) if row["file"].startswith("miles/")]
        stars: dict[str, list[tuple[float, float]]] = {"MG": [], "MD": []}
        for row in labels:
            if row["class_key"] in stars and row["verdict"] == "clear":
                spectrum = _miles(shared_data, int(row["file"][-9:-6]))
                tio5, cah2, cah3 = (_index(spectrum, f"PMSU {name}") for name in ("TiO5", "CaH2", "CaH3"))
                stars[row["class_key"]].append((tio5, cah2 + cah3))
        gaps = [
            giant_cah - dwarf_cah
            for dwarf_tio5, dwarf_cah in stars["MD"]
            for giant_tio5, giant_cah in stars["MG"]
            if abs(dwarf_tio5 - giant_tio5) < 0.06
        ]
        assert len(gaps) >= 20
        assert min(gaps) > 0.15


def _index(spectrum, name: str) -> float:
    wavelength, flux = spectrum
    index = get_index(name)

    def mean(windows):
        return np.mean([flux[(wavelength >= low) & (wavelength <= high)].mean() for low, high in windows])

    return float(mean(index.numerator_AA) / mean(index.denominator_AA))
