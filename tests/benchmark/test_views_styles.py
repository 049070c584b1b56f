"""Styles and options: what each draws, what each says, and the awkward spectra in both."""

import io
import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import clean_spectrum
from specvi_benchmark.views import STYLES, ViewOptions, render
from specvi_benchmark.views.bake import bake
from specvi_benchmark.views.drawing import prepare
from specvi_benchmark.views.glyphs import CHARACTERS, FONTS, atlas, width_px
from specvi_benchmark.views.palette import BAND_COLOUR, MARKER_COLOUR

GRID_AA = 3700 * 10 ** (1e-4 * np.arange(3909))
SHAPE = 2 + np.sin(GRID_AA / 300)
PLAIN = clean_spectrum(GRID_AA, SHAPE, np.full(GRID_AA.size, 25.0), name="spec-1-2-3.fits")


def drawing(spectrum, window=None, redshift=None, **options):
    return prepare(spectrum, window, ViewOptions(**options), redshift, None)


def count(view, colour):
    return int((view.pixels == colour).all(axis=2).sum())


@pytest.mark.parametrize(
    ("window", "size"),
    [
        (None, (792, 472)),
        ((4000, 7000), (712, 432)),
        ((4000, 4900), (632, 392)),
        ((6500, 6620), (552, 352)),
        ((6550, 6580), (448, 312)),  # 20 points: 5 % narrower
    ],
)
def test_spec_o3_sizes_go_by_width(window, size):
    assert render(PLAIN, window, style="spec-o3").size_px == size


def test_spec_o3_is_wider_for_many_points():
    wavelength = np.linspace(3700, 9100, 11_000)
    assert render(clean_spectrum(wavelength, wavelength), style="spec-o3").size_px == (832, 472)


def test_spec_o3_titles_and_statistics():
    plans = {title: drawing(PLAIN, style="spec-o3", title=title) for title in ("none", "released", "figure")}
    assert {title: plan.content.title for title, plan in plans.items()} == {
        "none": "",
        "released": "Supernova Spectrum",
        "figure": "spec-1-2-3.fits",
    }
    assert drawing(PLAIN, style="spec-o3").content.title == "Supernova Spectrum"
    assert plans["released"].content.statistics == (
        "Data points: 3909",
        f"λ range: {GRID_AA[0]:.1f} - {GRID_AA[-1]:.1f} Å",
        f"Flux range: {SHAPE.min():.2e} - {SHAPE.max():.2e}",
    )
    hashes = {
        render(PLAIN, style="spec-o3", options=ViewOptions("spec-o3", title=t)).pixel_sha256 for t in plans
    }
    assert len(hashes) == 3


@pytest.mark.parametrize("power", [-8.0, -0.2, 0.2, 8.0])
@pytest.mark.parametrize("mirrored", [False, True])
def test_statistics_stand_in_the_quarter_with_fewest_points(power, mirrored):
    x = np.linspace(0.01, 1, 2000)
    flux = (x[::-1] if mirrored else x) ** abs(power) * np.sign(power)
    plan = drawing(clean_spectrum(4000 + 5000 * x, flux), style="spec-o3")
    right, upper = x > 0.505, flux > (flux.min() + flux.max()) / 2
    counts = {(a, u): ((right == a) & (upper == u)).sum() for a in (0, 1) for u in (0, 1)}
    assert counts[plan.content.corner] <= min(counts.values()) + 1


def test_no_name_in_clean():
    with pytest.raises(UserError, match="no title"):
        ViewOptions(title="figure")


@pytest.mark.parametrize("bad", [{"smooth_px": 3}, {"error_band": True}, {"markers": ("Hα",)}])
def test_spec_o3_draws_the_flux_alone(bad):
    with pytest.raises(UserError, match="flux alone"):
        ViewOptions(style="spec-o3", **bad)


@pytest.mark.parametrize(
    "bad", [{"smooth_px": 4}, {"smooth_px": 0}, {"smooth_px": 103}, {"limits": "tight"}, {"title": "big"}]
)
def test_unknown_options_are_refused(bad):
    with pytest.raises(UserError):
        ViewOptions(**bad)


def test_an_unknown_marker_is_refused_when_options_are_made():
    with pytest.raises(UserError, match="no such line"):
        ViewOptions(markers=("Hzeta99",))


def test_options_are_recorded_with_their_defaults():
    assert ViewOptions().config == {
        "style": "clean",
        "size_px": [896, 448],
        "title": "none",
        "limits": "robust",
        "smooth_px": 1,
        "error_band": False,
        "markers": [],
    }
    released = ViewOptions(style="spec-o3").config
    assert (released["size_px"], released["title"], released["limits"]) == ("by width", "released", "full")


def test_smoothing_is_the_mean_of_good_pixels_and_says_so():
    rng = np.random.default_rng(3)
    mask = np.zeros(GRID_AA.size, dtype=bool)
    mask[100:105] = True
    flux = rng.normal(size=GRID_AA.size)
    plan = drawing(clean_spectrum(GRID_AA, flux, mask=mask), smooth_px=7)
    assert plan.content.y_label == "Flux, mean of 7 pixels"
    for pixel in (0, 3, 98, 106, 2000, 3908):
        near = slice(max(pixel - 3, 0), pixel + 4)
        assert plan.points.drawn[pixel] == pytest.approx(flux[near][~mask[near]].mean())
    assert plan.flux_range == (flux[~mask].min(), flux[~mask].max())
    zoom = drawing(clean_spectrum(GRID_AA, flux, mask=mask), (GRID_AA[1000], GRID_AA[1100]), smooth_px=7)
    assert zoom.points.drawn[0] == pytest.approx(flux[997:1004].mean())  # neighbours outside the window count


def test_the_error_band_is_one_sigma_wide_and_missing_without_errors():
    view = render(PLAIN, options=ViewOptions(error_band=True))
    column = view.pixels[:, 400]
    band = np.flatnonzero(
        (column == BAND_COLOUR).all(axis=1) | (column[:, 2] > column[:, 0].astype(int) + 60)
    )
    per_px = (view.shown_range[1] - view.shown_range[0]) / (398 - 14)
    assert (band[-1] - band[0] + 1) * per_px == pytest.approx(2 * 0.2, rel=0.1)
    bare = clean_spectrum(GRID_AA, SHAPE)
    assert render(bare, options=ViewOptions(error_band=True)).pixel_sha256 == render(bare).pixel_sha256


def test_markers_stand_at_the_redshift():
    options = ViewOptions(markers=("Hα", "Hβ", "Mg II 2799"))
    view = render(PLAIN, options=options, marker_redshift=0.2)
    assert view.markers == ("Hα", "Hβ")
    columns = np.flatnonzero((view.pixels == MARKER_COLOUR).all(axis=2).sum(axis=0) > 100)
    low, high = view.window_AA
    expected = [72 + (line * 1.2 - low) / (high - low) * (876 - 72) for line in (4862.69, 6564.61)]
    assert columns == pytest.approx(expected, abs=0.6)
    assert render(PLAIN, options=options, redshift=0.2).markers == ("Hα", "Hβ")
    assert render(PLAIN, (8000, 9000), options).markers == ()


def test_names_of_crowded_markers_do_not_overlap():
    names = ("H8", "H9", "Hε", "Ca II K", "Ca II H", "Hδ", "Hγ", "Hβ", "Hα", "He I 4027", "He I 4473")
    plan = drawing(PLAIN, markers=names)
    assert plan.layout.axes[1] == 14 + 3 * 15
    boxes = {}
    table = atlas().table
    first = list(FONTS).index("regular 12px") * len(CHARACTERS)
    for glyph, x, y, *_ in plan.layout.text.rows:
        if first <= glyph < first + len(CHARACTERS) and table[glyph, 1]:
            boxes.setdefault(y, []).append((x + table[glyph, 3], x + table[glyph, 3] + table[glyph, 1]))
    assert len(boxes) == 3
    for row in boxes.values():
        row.sort()
        assert all(a[1] <= b[0] + 1 for a, b in itertools.pairwise(row))


def test_robust_limits_are_a_choice():
    flux = SHAPE.copy()
    flux[2000] = 1e5
    spiky = clean_spectrum(GRID_AA, flux)
    robust, full = render(spiky), render(spiky, options=ViewOptions(limits="full"))
    assert robust.shown_range[1] < 4
    assert robust.n_beyond == 1
    assert full.shown_range[1] > 1e5
    assert full.n_beyond == 0
    assert render(spiky, style="spec-o3").n_beyond == 0


@pytest.mark.parametrize("pixels", [5, 9, 20, 60, 500])
def test_noise_is_not_taken_for_spikes(pixels):
    rng = np.random.default_rng(5)
    cut = 0
    for _ in range(200):
        flux = 10 + rng.normal(size=pixels)
        cut += render(clean_spectrum(4000.0 + np.arange(pixels), flux), size_px=(120, 120)).n_beyond
    assert cut <= 1e-3 * 200 * pixels


AWKWARD = {
    "constant": np.full(GRID_AA.size, 3.0),
    "zero": np.zeros(GRID_AA.size),
    "tiny": SHAPE * 1e-17,
    "huge": SHAPE * 1e7,
    "negative": -SHAPE * 40,
    "spike": np.where(np.arange(GRID_AA.size) == 777, 1e5, SHAPE),
    "tiny step on a large level": 12_345 + 1e-6 * SHAPE,
    "largest": np.where(np.arange(GRID_AA.size) % 2, 1.7e308, -1.7e308),
    "smallest": np.full(GRID_AA.size, 5e-324),
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("flux", AWKWARD.values(), ids=AWKWARD)
@pytest.mark.parametrize("window", [None, (6564, 6565.6), (6563.5, 6567), (6500, 6620)])
def test_awkward_spectra_are_drawn(style, flux, window):
    view = render(clean_spectrum(GRID_AA, flux), window, style=style)
    assert np.array_equal(np.array(Image.open(io.BytesIO(view.png)).convert("RGB")), view.pixels)
    blue = view.pixels[:, :, 2].astype(int) - view.pixels[:, :, 0]
    assert (blue > 25).sum() > 5
    low, high = view.shown_range
    assert low < high


@pytest.mark.parametrize("style", STYLES)
def test_every_second_pixel_masked_is_dots_not_a_line(style):
    view = render(
        clean_spectrum(GRID_AA, np.ones(GRID_AA.size), mask=np.arange(GRID_AA.size) % 2),
        (6500, 6530),
        style=style,
    )
    blue = view.pixels[:, :, 2].astype(int) - view.pixels[:, :, 0] > 25
    row = blue[np.argmax(blue.sum(axis=1))]
    starts = np.flatnonzero(np.diff(row.astype(int)) == 1)
    assert len(starts) == view.n_points


@settings(max_examples=60)
@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=2, max_size=40),
    st.sampled_from(STYLES),
    st.integers(120, 500),
    st.integers(120, 300),
)
def test_any_flux_gives_a_picture(flux, style, width, height):
    values = np.array(flux)
    if not np.isfinite(values).any():
        return
    wavelength = 4000.0 + 3 * np.arange(values.size)
    view = render(clean_spectrum(wavelength, values), style=style, size_px=(width, height))
    assert view.size_px == (width, height)
    assert Image.open(io.BytesIO(view.png)).size == (width, height)


def test_the_exponent_stands_on_the_flux_axis():
    assert drawing(clean_spectrum(GRID_AA, SHAPE * 1e-17)).content.y_label == "Flux (×10⁻¹⁷)"
    assert drawing(clean_spectrum(GRID_AA, SHAPE * 1e7)).content.y_label == "Flux (×10⁷)"
    assert drawing(clean_spectrum(GRID_AA, SHAPE * 1e-17), style="spec-o3").layout.y_labels.common == "1e−17"


def test_the_shipped_letters_are_those_the_baker_makes():
    baked, shipped = bake(), atlas()
    assert np.array_equal(baked["advance"], shipped.advance)
    ours, theirs = shipped.levels, baked["levels"]
    assert ours.size == theirs.size  # another FreeType may shade a pixel differently
    assert np.abs(ours.astype(int) - theirs).mean() < 0.5
    assert width_px("Åα☉⁻", "regular 13px") > 20
    assert width_px("\N{SNOWMAN}", "regular 13px") == width_px("?", "regular 13px")


def test_nothing_of_matplotlib_is_loaded_to_draw():
    code = (
        "import sys, numpy as np; from specvi_benchmark.views import render;"
        "from specvi_benchmark.spectrum import clean_spectrum;"
        "w = np.linspace(4000, 9000, 500); render(clean_spectrum(w, w)).png;"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_compiled_code_is_not_needed_to_be_kept(tmp_path):
    """Where no folder can be written, each process compiles anew."""
    code = (
        "import numba.core.caching as c; c.CacheImpl._locator_classes = [];"
        "from specvi_benchmark.compiled import compiled;"
        "print(compiled(lambda x: x + 1)(2))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.stdout.strip() == "3", done.stderr


def test_pictures_do_not_pile_up():
    from specvi_benchmark.views.cost import growth

    grown = growth([PLAIN], 3000)
    assert grown.after_MB - grown.before_MB < 8


@pytest.mark.parametrize(
    "bad",
    [
        {"size_px": (400.5, 300)},
        {"size_px": (400.0, 300.0)},
        {"size_px": (400,)},
        {"size_px": (400, 300, 3)},
        {"size_px": "big"},
        {"smooth_px": 3.0},
        {"smooth_px": "3"},
        {"smooth_px": float("nan")},
    ],
)
def test_options_of_another_type_are_told(bad):
    with pytest.raises(UserError, match=r"size|smoothing"):
        ViewOptions(**bad)
