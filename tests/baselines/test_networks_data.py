"""Spectra as tensors: grids, errors, masks; and what augmentation keeps."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from specvi_baselines.networks.augment import Augmenter
from specvi_baselines.networks.build import build
from specvi_baselines.networks.inference import probabilities
from specvi_baselines.networks.settings import NAMES, Augmentation, Grid, load_settings
from specvi_baselines.networks.tensors import continuum, filled, stack
from specvi_benchmark.spectrum import Spectrum, clean_spectrum

LAMOST_AA = 3700 * 10 ** (1e-4 * np.arange(3909))
DESI_AA = 3600 + 0.8 * np.arange(7781)
GRID = Grid(first_AA=3700, last_AA=9000, pixels=800, spacing="log")


@pytest.fixture(autouse=True)
def _same_weights() -> None:
    """Networks here are untrained: their weights are of one draw, whatever tests ran before."""
    torch.manual_seed(0)


def spectrum(wavelength=LAMOST_AA, seed=0, scale=1.0, mask=None, **more) -> Spectrum:
    rng = np.random.default_rng(seed)
    light = 1 + 0.3 * np.sin(wavelength / 400) - 0.6 * np.exp(-(((wavelength - 6564.6) / 20) ** 2))
    flux = scale * (light + rng.normal(0, 0.05, wavelength.size))
    return clean_spectrum(wavelength, flux, np.full(wavelength.size, (0.05 * scale) ** -2), mask, **more)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1e300, -1e300])
def test_bad_pixels_cannot_change_the_output(name, wrong):
    chosen = load_settings(name, "test")
    network = build(name, chosen, 3).eval()
    mask = np.zeros(LAMOST_AA.size, bool)
    mask[500:620] = mask[2000:2011] = mask[:40] = True
    clean = spectrum(mask=mask)
    flux = clean.flux.copy()
    flux[mask] = wrong
    ivar = np.where(mask, 1e300, clean.ivar)
    spoilt = Spectrum(clean.wavelength_AA, flux, ivar, mask)
    assert np.array_equal(
        probabilities(network, [clean], chosen.grid), probabilities(network, [spoilt], chosen.grid)
    )
    unmasked = probabilities(network, [spectrum()], chosen.grid)
    assert (
        not np.array_equal(unmasked, probabilities(network, [clean], chosen.grid)) or name == "gaianet-style"
    )


@pytest.mark.parametrize("name", NAMES)
def test_any_length_range_and_scale_gives_a_logit_a_task(name):
    chosen = load_settings(name, "test")
    network = build(name, chosen, 4).eval()
    spectra = [spectrum(), spectrum(DESI_AA), spectrum(LAMOST_AA[1000:1900]), spectrum(scale=1e-17)]
    found = probabilities(network, spectra, chosen.grid)
    assert found.shape == (4, 4)
    assert np.isfinite(found).all()
    assert found[3] == pytest.approx(found[0], abs=1e-4)  # the unit of the flux does not matter
    alone = np.concatenate([probabilities(network, [one], chosen.grid) for one in spectra])
    assert found == pytest.approx(alone, abs=1e-5)
    beyond = clean_spectrum(np.linspace(9500, 10400, 500), np.ones(500))
    assert np.isnan(probabilities(network, [beyond], chosen.grid)).all()


@pytest.mark.parametrize("name", NAMES)
def test_one_wild_pixel_does_not_take_the_others_with_it(name):
    chosen = load_settings(name, "test")
    network = build(name, chosen, 3).eval()

    def p(flux_of_one=None, ivar_of_ten=None):
        made = spectrum()
        flux, ivar = made.flux.copy(), made.ivar.copy()
        if flux_of_one is not None:
            flux[2000] = flux_of_one
        if ivar_of_ten is not None:
            flux[1000:1010], ivar[1000:1010] = 50.0, ivar_of_ten
        return probabilities(
            network, [clean_spectrum(LAMOST_AA, flux, ivar, np.zeros(3909, bool))], chosen.grid
        )

    # Errors that know nothing are no errors that are bad: as if masked.
    unknown = p(ivar_of_ten=0.0)
    for ivar in (1e-7, 1e-15, 1e-30, 1e-200):
        assert np.array_equal(p(ivar_of_ten=ivar), unknown)
    # So is flux beyond a million times the median.
    for flux in (1e8, 1e20, 1e40, 1e300):
        assert np.array_equal(p(flux_of_one=flux), p(flux_of_one=np.nan))


@pytest.mark.parametrize("name", NAMES)
def test_odd_spectra_are_read_or_left_without_an_answer(name):
    chosen = load_settings(name, "test")
    network = build(name, chosen, 2).eval()
    made = spectrum()
    dark = Spectrum(LAMOST_AA, made.flux, made.ivar, np.ones(3909, bool))
    ten = clean_spectrum(LAMOST_AA[2000:2010], np.ones(10))
    lone = Spectrum(LAMOST_AA, made.flux, made.ivar, np.arange(3909) != 5)
    points = [
        clean_spectrum(wavelength, np.ones(len(wavelength)))
        for wavelength in ((4000, 9000), (4e3, 6e3, 9e3), (1, 1e9))
    ]
    assert np.isnan(probabilities(network, [dark, ten, lone, *points], chosen.grid)).all()
    hole = np.delete(np.arange(3909), slice(1500, 2200))
    gap = clean_spectrum(LAMOST_AA[hole], made.flux[hole], made.ivar[hole])
    masked = clean_spectrum(LAMOST_AA, made.flux, made.ivar, ~np.isin(np.arange(3909), hole))
    none = np.zeros(3909, bool)
    without_errors = Spectrum(LAMOST_AA, made.flux, np.zeros(3909), none)
    flat, zero, negative = (
        Spectrum(LAMOST_AA, flux, made.ivar, none) for flux in (np.ones(3909), np.zeros(3909), -made.flux)
    )
    found = probabilities(network, [gap, masked, without_errors, flat, zero, negative], chosen.grid)
    assert np.isfinite(found).all()
    # A gap in the list of pixels is no stretched pixel: nearly the same as the same pixels masked.
    assert found[0] == pytest.approx(found[1], abs=0.01)


@pytest.mark.parametrize("name", NAMES)
def test_neither_the_order_nor_the_size_of_a_batch_matters(name):
    chosen = load_settings(name, "test")
    network = build(name, chosen, 2).eval()
    spectra = [spectrum(seed=seed) for seed in range(70)]  # two batches
    found = probabilities(network, spectra, chosen.grid)
    turned = probabilities(network, spectra[::-1], chosen.grid)[::-1]
    alone = np.concatenate([probabilities(network, [one], chosen.grid) for one in spectra])
    assert found == pytest.approx(turned, abs=1e-6)
    assert found == pytest.approx(alone, abs=1e-6)


def test_a_spectrum_on_the_grid_is_not_resampled():
    grid = Grid(first_AA=LAMOST_AA[0], last_AA=LAMOST_AA[3699], pixels=3700, spacing="log")
    made = spectrum()
    found = stack([made], grid)
    scale = np.median(np.abs(made.flux[:3700]))
    assert found.flux[0].numpy() == pytest.approx(made.flux[:3700] / scale, rel=1e-6)
    assert found.ivar[0].numpy() == pytest.approx(made.ivar[:3700] * scale**2, rel=1e-5)


def test_resampling_conserves_flux_and_information():
    made = spectrum(DESI_AA)
    read = stack([made], GRID)
    coarse = read.flux[0].numpy().astype(float)
    assert (read.ivar > 0).all()
    edges = np.sqrt(GRID.wavelength_AA[1:] * GRID.wavelength_AA[:-1])
    inside = (edges[0] < DESI_AA) & (edges[-1] > DESI_AA)
    scale = np.median(np.abs(coarse))  # 1 by construction
    assert scale == pytest.approx(1, abs=1e-6)
    integral = (coarse[1:-1] * np.diff(edges)).sum()
    own = made.flux[inside].sum() * 0.8
    ratio = own / integral
    assert np.interp(GRID.wavelength_AA, DESI_AA, made.flux).mean() / coarse.mean() == pytest.approx(
        ratio, rel=5e-3
    )
    # N pixels of equal variance in a mean: the inverse variance is N times one pixel's.
    width = np.diff(np.concatenate([[GRID.first_AA], edges, [GRID.last_AA]]))[1:-1]
    expected = width / 0.8 * made.ivar[0] * ratio**2
    assert read.ivar[0].numpy()[1:-1] == pytest.approx(expected, rel=0.02)


def test_noise_of_resampled_spectra_is_what_their_ivar_says():
    rng = np.random.default_rng(3)
    spectra = [clean_spectrum(DESI_AA, 10 + rng.normal(0, 1, 7781), np.ones(7781)) for _ in range(40)]
    read = stack(spectra, GRID)
    pull = (read.flux - read.flux.mean(dim=0)) * read.ivar.sqrt()
    assert float(pull.std()) == pytest.approx(np.sqrt(39 / 40), abs=0.04)


@pytest.mark.parametrize("wavelength", [LAMOST_AA, DESI_AA])
def test_pixels_that_a_file_leaves_out_are_as_if_masked(wavelength):
    mask = np.zeros(wavelength.size, bool)
    mask[900:990] = mask[992:1100] = mask[2000:2003] = True  # an island of two pixels between gaps
    whole = spectrum(wavelength, mask=mask)
    kept = clean_spectrum(wavelength[~mask], whole.flux[~mask], whole.ivar[~mask])
    masked, left_out = stack([whole], GRID), stack([kept], GRID)
    assert torch.equal(masked.ivar > 0, left_out.ivar > 0)
    torch.testing.assert_close(left_out.flux, masked.flux, rtol=2e-3, atol=2e-3)
    torch.testing.assert_close(left_out.ivar, masked.ivar, rtol=2e-3, atol=0)


def test_lines_are_drawn_over_bad_pixels():
    flux = torch.tensor([[9.0, 1.0, 9.0, 9.0, 4.0, 9.0]])
    good = torch.tensor([[False, True, False, False, True, False]])
    assert filled(flux, good).tolist() == [[1.0, 1.0, 2.0, 3.0, 4.0, 4.0]]


@given(st.integers(0, 2**30), st.integers(20, 60))
@settings(max_examples=25)
def test_filling_agrees_with_numpy(seed, size):
    rng = np.random.default_rng(seed)
    flux, good = rng.normal(size=size), rng.random(size) < 0.5
    good[rng.integers(size)] = True
    found = filled(torch.tensor(flux[None]), torch.tensor(good[None]))[0].numpy()
    place = np.arange(size)
    assert found == pytest.approx(np.interp(place, place[good], flux[good]))


def test_the_continuum_passes_under_a_line_and_follows_a_slope():
    x = torch.linspace(0, 1, 2000)[None]
    flux = 1 + x - 0.8 * torch.exp(-(((x - 0.5) / 0.01) ** 2))
    good = torch.ones_like(flux, dtype=torch.bool)
    level = continuum(flux, good, 10, 61)
    inside = slice(400, 1600)
    # The line lies under the level in 8.5 of 61 bins: the median is taken up to 4.25 bins, 43 to 85 pixels, off.
    assert (level / (1 + x))[0, inside].numpy() == pytest.approx(1, abs=0.03)
    assert level[0, 1000] == pytest.approx(1.5, abs=0.045)  # at the bottom of the line the flux is 0.7


def test_augmentation_keeps_bad_pixels_bad_and_draws_from_its_generator_alone():
    grid = Grid(first_AA=3700, last_AA=9000, pixels=400, spacing="log")
    made = stack([spectrum(seed=seed) for seed in range(16)], grid)
    made.flux[:, 100:140], made.ivar[:, 100:140] = 0.0, 0.0
    asked = Augmentation(
        noise=3, reddening_mag=0.2, gap_share=0.1, end_share=0.1, blur_pixels=1, tilt=0.1, coarse=0.5
    )
    change = Augmenter(asked, grid)
    flux, ivar = change(made.flux, made.ivar, torch.Generator().manual_seed(1))
    again = change(made.flux, made.ivar, torch.Generator().manual_seed(1))
    other = change(made.flux, made.ivar, torch.Generator().manual_seed(2))
    assert torch.equal(flux, again[0])
    assert not torch.equal(flux, other[0])
    assert (ivar[:, 100:140] == 0).all()
    assert (flux[ivar == 0] == 0).all()
    assert torch.isfinite(flux).all()
    assert torch.isfinite(ivar).all()


def test_added_noise_is_what_the_new_ivar_says():
    grid = Grid(first_AA=3700, last_AA=9000, pixels=2000, spacing="log")
    flux, ivar = torch.ones(64, 2000), torch.full((64, 2000), 400.0)
    noisy, known = Augmenter(Augmentation(noise=8), grid)(flux, ivar, torch.Generator().manual_seed(0))
    grown = known[:, 0] < 399 * noisy.median(dim=1).values ** 2
    assert 16 < int(grown.sum()) < 48  # half of them
    excess = noisy.std(dim=1)[grown] ** 2 + 1 / (400 * 1.0)  # what was added, and what the flat flux lacks
    assert (excess * known[grown, 0]).numpy() == pytest.approx(1, abs=0.15)


def test_a_velocity_moves_a_line_by_the_doppler_shift():
    grid = Grid(first_AA=4000, last_AA=8000, pixels=4000, spacing="log")
    place = torch.arange(4000).float()
    flux = 1 - 0.9 * torch.exp(-(((place - 2000) / 3) ** 2))[None].repeat(200, 1)
    moved, known = Augmenter(Augmentation(velocity_kms=500), grid)(
        flux, torch.ones_like(flux), torch.Generator().manual_seed(0)
    )
    step_kms = 299792.458 * np.log(2) / 3999
    line = torch.where(known > 0, moved, 1.0).argmin(dim=1)  # what moved in from beyond the end is not known
    assert float((line - 2000).float().std()) * step_kms == pytest.approx(500, rel=0.15)
    assert ((known == 0).sum(dim=1) == (line - 2000).abs()).all()
