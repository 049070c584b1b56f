"""The view: exact size, same pixels, gaps, limits, and every awkward spectrum."""

import hashlib
import io
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import clean_spectrum
from specvi_benchmark.traces import ViewRecord
from specvi_benchmark.views import render

GRID_AA = 3700 * 10 ** (1e-4 * np.arange(3909))
SHAPE = 2 + np.sin(GRID_AA / 300) + 4 * np.exp(-0.5 * ((GRID_AA - 6564.6) / 8) ** 2)


def spectrum(flux=SHAPE, mask=None, name="secret-field-of-a-CV.fits"):
    return clean_spectrum(GRID_AA, flux, mask=mask, name=name)


def ink(view):
    """Return where the line was drawn: pixels bluer than red; everything else is white, grey or black."""
    return view.pixels[:, :, 2].astype(int) - view.pixels[:, :, 0] > 40


@pytest.mark.parametrize("size_px", [(896, 448), (1000, 500), (553, 351), (120, 120), (2048, 300)])
def test_size_is_exact_and_png_holds_the_pixels(size_px):
    view = render(spectrum(), size_px=size_px)
    assert view.pixels.shape == (size_px[1], size_px[0], 3)
    assert view.pixels.dtype == np.uint8
    assert (np.array(Image.open(io.BytesIO(view.png)).convert("RGB")) == view.pixels).all()
    decoded = Image.open(io.BytesIO(view.png))
    assert view.pixel_sha256 == hashlib.sha256(bytes(decoded.getpalette()) + decoded.tobytes()).hexdigest()
    assert ink(view).sum() > 50


def test_same_input_same_picture_and_other_input_another():
    first, again = render(spectrum()), render(spectrum())
    assert (first.pixel_sha256, first.png) == (again.pixel_sha256, again.png)
    assert render(spectrum(SHAPE + 0.5 * (GRID_AA > 6000))).pixel_sha256 != first.pixel_sha256
    assert render(spectrum(), (5000, 6000)).pixel_sha256 != first.pixel_sha256


def test_the_name_of_the_file_shows_nowhere():
    assert render(spectrum(name="")).pixel_sha256 == render(spectrum()).pixel_sha256


def test_threads_draw_what_one_thread_draws():
    windows = [(3800 + 50 * i, 4600 + 60 * i) for i in range(24)]
    alone = [render(spectrum(), window, size_px=(400, 260)).pixel_sha256 for window in windows]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda w: render(spectrum(), w, size_px=(400, 260)).pixel_sha256, windows))
    assert together == alone


def test_another_process_draws_the_same(tmp_path):
    (tmp_path / "spectrum.pickle").write_bytes(pickle.dumps(spectrum()))
    code = (
        "import pickle, sys; from specvi_benchmark.views import render;"
        "print(render(pickle.load(open(sys.argv[1], 'rb'))).pixel_sha256)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "spectrum.pickle"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == render(spectrum()).pixel_sha256


def test_settings_of_matplotlib_stay_and_do_not_matter():
    before = dict(mpl.rcParams)
    plain = render(spectrum()).pixel_sha256
    assert dict(mpl.rcParams) == before
    with mpl.rc_context(
        {"font.size": 22, "lines.linewidth": 5, "axes.facecolor": "red", "font.family": "serif"}
    ):
        assert render(spectrum()).pixel_sha256 == plain


def test_pyplot_is_not_touched():
    code = (
        "import sys, numpy as np; from specvi_benchmark.views import render;"
        "from specvi_benchmark.spectrum import clean_spectrum;"
        "w = np.linspace(4000, 9000, 500); render(clean_spectrum(w, w));"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_window_is_clipped_to_good_pixels_and_reported():
    mask = GRID_AA < 4000
    view = render(spectrum(mask=mask), (3000, 5000))
    first = GRID_AA[~mask][0]
    assert view.window_AA == (first, 5000)
    assert view.n_points == ((first <= GRID_AA) & (GRID_AA <= 5000)).sum()
    whole = render(spectrum())
    assert whole.window_AA == (GRID_AA[0], GRID_AA[-1])
    assert whole.n_points == GRID_AA.size


def test_rest_frame_moves_the_window_not_the_shape():
    view = render(spectrum(), (5000, 6000), redshift=0.1)
    assert view.frame == "rest"
    rest = GRID_AA / 1.1
    assert view.n_points == ((rest >= 5000) & (rest <= 6000)).sum()
    assert view.flux_range[1] == pytest.approx(SHAPE[(rest >= 5000) & (rest <= 6000)].max())
    assert render(spectrum()).frame == render(spectrum(), redshift=0.0).frame == "observed"


@pytest.mark.parametrize(
    "window", [(9500, 9600), (100, 3000), (6000, 5000), (5000, 5000), (float("nan"), 6000)]
)
def test_empty_and_nonsense_windows_are_refused(window):
    with pytest.raises(UserError, match="window"):
        render(spectrum(), window)


def test_a_window_in_a_gap_is_refused():
    with pytest.raises(UserError, match="no good pixel"):
        render(spectrum(mask=(GRID_AA > 5400) & (GRID_AA < 5800)), (5500, 5700))


@pytest.mark.parametrize("bad", [{"style": "baroque"}, {"size_px": (50, 400)}, {"size_px": (400, 9000)}])
def test_unknown_styles_and_sizes_are_refused(bad):
    with pytest.raises(UserError, match=r"style|size"):
        render(spectrum(), **bad)


def test_masked_pixels_are_gaps_and_not_bridged():
    gap = (GRID_AA > 5500) & (GRID_AA < 6000)
    wild = np.where(gap, 1e12, SHAPE)
    view = render(spectrum(wild, gap))
    columns = np.flatnonzero(ink(view).any(axis=0))
    left, right = 72, 896 - 20
    pixel_AA = (GRID_AA[-1] - GRID_AA[0]) / (right - left)
    hole = columns[np.argmax(np.diff(columns))], columns[np.argmax(np.diff(columns)) + 1]
    assert GRID_AA[0] + (hole[0] - left) * pixel_AA == pytest.approx(5500, abs=1.5 * pixel_AA)
    assert GRID_AA[0] + (hole[1] - left) * pixel_AA == pytest.approx(6000, abs=1.5 * pixel_AA)
    assert view.flux_range[1] < 10
    assert view.pixel_sha256 == render(spectrum(np.where(gap, -7.0, SHAPE), gap)).pixel_sha256


@pytest.mark.parametrize("height", [1e5, -1e5])
@pytest.mark.parametrize("width", [1, 2])
def test_a_huge_spike_is_cut_off_and_said(height, width):
    flux = SHAPE.copy()
    flux[2000 : 2000 + width] += height
    view = render(spectrum(flux))
    assert max(map(abs, view.flux_range)) > 9e4
    assert max(map(abs, view.shown_range)) < 10
    assert abs(render(spectrum()).shown_range[1] - view.shown_range[1]) < 0.1


def test_a_real_line_is_never_cut_off():
    for sigma_AA in (1.5, 3, 20):
        flux = 1 + 50 * np.exp(-0.5 * ((GRID_AA - 6564.6) / sigma_AA) ** 2)
        view = render(spectrum(flux))
        if sigma_AA > 2:  # broader than the instrument
            assert view.shown_range[1] >= flux.max()
        assert view.shown_range[1] > 20


@pytest.mark.parametrize("scale", [1e-17, 1e-3, 1.0, 1e7, -1e-17, -300.0])
def test_any_unit_and_sign_is_drawn_alike(scale):
    view = render(spectrum(SHAPE * scale))
    assert ink(view).sum() > 2000
    low, high = view.shown_range
    assert low < view.flux_range[0] <= view.flux_range[1] < high
    if scale > 0:  # the line itself is where it is for any unit
        assert (ink(view) ^ ink(render(spectrum()))).mean() < 0.002


@pytest.mark.parametrize("value", [0.0, 1.0, -2.5, 1e-17, 1e7])
def test_constant_flux_is_a_line_in_the_middle(value):
    view = render(spectrum(np.full(GRID_AA.size, value)))
    rows = np.flatnonzero(ink(view).sum(axis=1) > 500)
    assert 180 < rows.mean() < 320
    assert view.shown_range[0] < value < view.shown_range[1]


@pytest.mark.parametrize("window", [(6564.0, 6565.6), (6563.5, 6567.0)])
def test_one_or_two_pixels_are_visible(window):
    view = render(spectrum(), window)
    assert view.n_points in (1, 2)
    assert ink(view).sum() > 5


def test_record_of_a_trace():
    view = render(spectrum(), (5000, 6000), size_px=(640, 400), redshift=0.001)
    assert view.record == ViewRecord(
        png_sha256=hashlib.sha256(view.png).hexdigest(),
        pixel_sha256=view.pixel_sha256,
        window_AA=(5000, 6000),
        frame="rest",
        style="clean",
        size_px=(640, 400),
    )


def test_pixels_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        render(spectrum()).pixels[0, 0, 0] = 1


@pytest.mark.parametrize("style", ["clean", "spec-o3"])
@pytest.mark.parametrize("width_AA", [0, 1e-12, 1e-9, 1e-4])
def test_a_window_too_narrow_for_ticks_stands_in_the_middle_of_two_angstrom(style, width_AA):
    place = GRID_AA[2000]
    view = render(spectrum(), (place - width_AA, np.nextafter(place, 9e9) + width_AA), style=style)
    columns = np.flatnonzero(ink(view)[20:-60].any(axis=0))
    assert view.n_points == 1
    assert view.window_AA == pytest.approx((place, place), abs=2e-4)
    left, right = (72, 876) if style == "clean" else (40, view.size_px[0] - 10)
    assert columns.mean() == pytest.approx((left + right) / 2, abs=12)
    assert render(spectrum(), (place - 1e-3, place + 1e-3), style="clean").n_points == 1


@pytest.mark.parametrize("style", ["clean", "spec-o3"])
def test_pixels_a_rounding_apart_are_drawn(style):
    grid = np.array([5000.0, np.nextafter(5000.0, 9e9)])
    assert ink(render(clean_spectrum(grid, [1.0, 2.0]), style=style)).any()


@pytest.mark.parametrize(
    "window", [(5000.1, 5000.9), (6562.0, 6562.5), (7000.01, 7000.05), (5000, 6000), (3800, 9000)]
)
def test_no_label_of_the_wavelength_axis_is_cut_at_the_edge(window):
    grid = np.arange(3700, 9100, 0.02)
    view = render(clean_spectrum(grid, 1 + 0.1 * np.sin(grid)), window)
    assert view.pixels[:, -1].min() == 255
    assert view.pixels[:, 0].min() == 255
    if window[1] - window[0] > 100:  # short labels leave the axes where they always are
        dark = (view.pixels[:-60] < 60).all(axis=2).all(axis=0) | (view.pixels[20:300] < 60).all(axis=2).all(
            axis=0
        )
        assert np.flatnonzero(dark)[-1] == 896 - 20
