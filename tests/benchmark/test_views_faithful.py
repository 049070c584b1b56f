"""The fast painter against matplotlib's Agg on the same axes: line pixels, labels, structural similarity."""

import io

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import gaussian_filter

from specvi_benchmark.spectrum import clean_spectrum
from specvi_benchmark.surveys import read_spectra
from specvi_benchmark.views import STYLES, ViewOptions, paint, render
from specvi_benchmark.views.cost import simulated_spectra
from specvi_benchmark.views.drawing import DOT_PX, prepare
from specvi_benchmark.views.palette import palette_of
from specvi_benchmark.views.reference import agg_pixels, figure_of, released_png
from specvi_benchmark.views.style import LOOKS

FULL, ZOOM, NARROW, BROAD = None, (6500, 6620), (5100, 5130), (4000, 4900)
VISIBLE = 64
"""Of 255: a pixel that differs by more is visibly different."""

FILES = (
    "lamost/dr7/spec-58575-HD103621N361936B01_sp03-061.fits",
    "lamost/dr1/spec-55862-B6212_sp06-025.fits",
    "lamost/dr7/spec-58397-EG014118N254444M01_sp03-031.fits",
    "sdss/spec_lite/spec-0266-51602-0031.fits",
    "sdss/spec_lite/spec-0266-51602-0013.fits",
    "desi/desihigh/coadd-mws-66003-20200315-wd.fits",
    "desi/desihigh/coadd-qso-68002-20200315.fits",
)


def line_pixels(plan):
    """Return the line alone, ours and Agg's."""
    width, height = plan.size_px
    picture = np.zeros((height, width + 1), dtype=np.uint8)
    flux = np.where(plan.points.good, plan.points.drawn, 0.0)
    radius = LOOKS[plan.options.style].line_px / 2
    paint.stroke(picture, plan.columns(), plan.rows(flux), plan.points.good, radius, DOT_PX, *plan.inside_px)
    ours = paint.colours(picture, palette_of(plan.options.style))
    return ours.astype(int), agg_pixels(plan, line_only=True).astype(int)


def visibly_different(plan):
    """Return the share of the line's pixels that differ visibly."""
    ours, theirs = line_pixels(plan)
    drawn = (ours.min(axis=2) < 250) | (theirs.min(axis=2) < 250)
    assert drawn.sum() > 100
    return ((np.abs(ours - theirs).max(axis=2) > VISIBLE) & drawn).sum() / drawn.sum()


def ssim(one, other):
    """Return the mean structural similarity: Wang et al. 2004 (IEEE TIP 13, 600), Gaussian of 1.5 pixels."""
    a, b = (pixels.astype(float) @ [0.299, 0.587, 0.114] for pixels in (one, other))

    def mean(values):
        return gaussian_filter(values, 1.5, truncate=3.5)

    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    ma, mb = mean(a), mean(b)
    va, vb, covariance = mean(a * a) - ma**2, mean(b * b) - mb**2, mean(a * b) - ma * mb
    found = (2 * ma * mb + c1) * (2 * covariance + c2) / ((ma**2 + mb**2 + c1) * (va + vb + c2))
    return found.mean()


def plan_of(spectrum, window, style, **options):
    return prepare(spectrum, window, ViewOptions(style=style, **options), None, None)


def picture_of(plan):
    return paint.colours(plan.painted(), palette_of(plan.options.style))


def test_ssim_knows_equal_shifted_and_unrelated_pictures():
    picture = picture_of(plan_of(simulated_spectra(1)[0], ZOOM, "clean"))
    assert ssim(picture, picture) == pytest.approx(1)
    assert ssim(picture, np.roll(picture, 2, axis=0)) < 0.95
    assert ssim(picture, 255 - picture) < 0.5


@pytest.mark.parametrize("style", STYLES)
def test_simulated_spectra_of_every_kind(style):
    for spectrum in simulated_spectra(12):
        full, zoom = plan_of(spectrum, FULL, style), plan_of(spectrum, ZOOM, style)
        assert visibly_different(full) < 0.03
        assert visibly_different(zoom) < 0.005
        assert ssim(picture_of(full), agg_pixels(full)) >= 0.95
        assert ssim(picture_of(zoom), agg_pixels(zoom)) >= 0.95


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("file", FILES)
def test_real_spectra_of_every_survey(shared_data, file, style):
    spectrum = read_spectra(shared_data / "real" / file).spectra[0]
    for window, most in ((FULL, 0.03), (ZOOM, 0.005), (NARROW, 0.005), (BROAD, 0.03)):
        plan = plan_of(spectrum, window, style)
        assert visibly_different(plan) < most
        assert ssim(picture_of(plan), agg_pixels(plan)) >= 0.95


@pytest.mark.parametrize("size_px", [(300, 200), (448, 224), (1600, 900)])
def test_other_sizes(size_px):
    for spectrum in simulated_spectra(3):
        for style in STYLES:
            plan = plan_of(spectrum, FULL, style, size_px=size_px)
            assert visibly_different(plan) < 0.03


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("scale", [1e-17, 1.0, 1e7, -300.0])
@pytest.mark.parametrize("window", [FULL, ZOOM, NARROW, BROAD])
def test_ticks_and_labels_are_matplotlib_s(style, scale, window):
    spectrum = simulated_spectra(1)[0]
    spectrum = clean_spectrum(spectrum.wavelength_AA, spectrum.flux * scale, mask=spectrum.mask)
    plan = plan_of(spectrum, window, style)
    figure, axes = figure_of(plan)
    figure.canvas.draw()
    for axis, ticks, labels, (low, high) in (
        (axes.xaxis, plan.layout.x_ticks, plan.layout.x_labels, plan.content.x_limits),
        (axes.yaxis, plan.layout.y_ticks, plan.layout.y_labels, plan.content.y_limits),
    ):
        seen = [
            (value, label.get_text())
            for value, label in zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True)
            if low <= value <= high
        ]
        ours = [(v, t) for v, t in zip(ticks, labels.texts, strict=True) if low <= v <= high]
        assert [text for _, text in ours] == [text for _, text in seen]
        assert [v for v, _ in ours] == pytest.approx([v for v, _ in seen], rel=1e-9, abs=1e-9 * (high - low))
    assert plan.layout.y_labels.common == axes.yaxis.get_offset_text().get_text()


@pytest.mark.parametrize("window", [FULL, ZOOM, BROAD, NARROW])
def test_spec_o3_is_laid_out_as_the_released_tool_lays_out(window):
    """Size within two pixels, and the same picture, of one pyplot figure with tight_layout and a tight box."""
    spectrum = simulated_spectra(4)[3]
    spectrum = clean_spectrum(spectrum.wavelength_AA, np.abs(spectrum.flux) + 10)
    ours = render(spectrum, window, style="spec-o3")
    theirs = np.array(Image.open(io.BytesIO(released_png(spectrum, window))).convert("RGB"))
    assert np.abs(np.array(theirs.shape[:2][::-1]) - ours.size_px).max() <= 2
    if theirs.shape == ours.pixels.shape:
        assert ssim(ours.pixels, theirs) >= 0.93


def test_gaps_are_where_agg_leaves_them():
    spectrum = simulated_spectra(1)[0]
    mask = spectrum.mask | (np.arange(spectrum.mask.size) % 50 < 7)
    plan = plan_of(clean_spectrum(spectrum.wavelength_AA, spectrum.flux, mask=mask), FULL, "clean")
    assert visibly_different(plan) < 0.03
