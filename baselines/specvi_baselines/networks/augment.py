"""Physical augmentation: a training spectrum as another night, another sky or another survey would have shown it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Generator, Tensor
from torch.nn import functional

from specvi_baselines.networks.settings import Augmentation, Grid
from specvi_baselines.networks.tensors import in_groups
from specvi_benchmark.errors import UserError
from specvi_benchmark.features.resolution import LIGHT_KMS
from specvi_benchmark.simulator.continuum import extinction

GAPS = 3
"""Stretches hidden in one spectrum."""


@dataclass(frozen=True)
class Augmenter:
    """Changes a batch of ``(n, pixels)`` flux and inverse variance; what is bad stays bad."""

    settings: Augmentation
    grid: Grid

    def __post_init__(self) -> None:
        if self.grid.spacing != "log":
            raise UserError("velocities need a logarithmic grid", where="settings", got=self.grid.spacing)

    def __call__(self, flux: Tensor, ivar: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
        """Return flux and inverse variance of the changed spectra; numbers come from ``generator`` alone."""
        draw = _Draw(len(flux), generator)
        flux, ivar = self._blurred(flux, ivar, draw)
        flux, ivar = self._moved(flux, ivar, draw)
        flux, ivar = self._tinted(flux, ivar, draw)
        flux, ivar = self._noisier(flux, ivar, draw)
        flux, ivar = self._coarser(flux, ivar, draw)
        ivar = ivar * self._kept(draw, flux.shape[1])
        return _rescaled(torch.where(ivar > 0, flux, 0.0), ivar)

    def _blurred(self, flux: Tensor, ivar: Tensor, draw: "_Draw") -> tuple[Tensor, Tensor]:
        """Lower the resolution; the noise that was there is blurred with it, the inverse variance stays."""
        largest = self.settings.blur_pixels
        if not largest:
            return flux, ivar
        sigma = (draw.even() * largest).clamp(min=0.05)
        reach = int(3 * largest) + 1
        offset = torch.arange(-reach, reach + 1)
        kernel = torch.exp(-0.5 * (offset / sigma) ** 2)
        kernel = (kernel / kernel.sum(dim=1, keepdim=True))[:, None]
        good = (ivar > 0).to(flux.dtype)
        light, share = (
            functional.conv1d(one[None], kernel, padding=reach, groups=len(flux))[0]
            for one in (flux * good, good)
        )
        return torch.where(ivar > 0, light / share.clamp(min=0.1), 0.0), ivar

    def _moved(self, flux: Tensor, ivar: Tensor, draw: "_Draw") -> tuple[Tensor, Tensor]:
        """Add a radial velocity, rounded to whole pixels: the noise stays what the inverse variance says."""
        step_kms = LIGHT_KMS * np.log(self.grid.last_AA / self.grid.first_AA) / (self.grid.pixels - 1)
        by = (draw.normal() * self.settings.velocity_kms / step_kms).round().long()
        place = torch.arange(flux.shape[1]) - by
        inside = (place >= 0) & (place < flux.shape[1])
        place = place.clamp(0, flux.shape[1] - 1)
        return flux.gather(1, place) * inside, ivar.gather(1, place) * inside

    def _tinted(self, flux: Tensor, ivar: Tensor, draw: "_Draw") -> tuple[Tensor, Tensor]:
        """Redden, and bend the flux calibration smoothly."""
        x = torch.linspace(-1, 1, flux.shape[1])
        dust = self.settings.reddening_mag * draw.normal() * self._reddening
        bend = self.settings.tilt * (draw.normal() * x + draw.normal() * (x**2 - 1 / 3))
        factor = torch.exp(dust + bend)
        return flux * factor, ivar / factor**2

    def _noisier(self, flux: Tensor, ivar: Tensor, draw: "_Draw") -> tuple[Tensor, Tensor]:
        """Make half of the spectra noisier: as fainter sources, or shorter exposures."""
        growth = torch.exp(draw.even() * np.log(self.settings.noise)) ** (draw.even() < 0.5)
        sigma = torch.where(ivar > 0, ((growth**2 - 1) / ivar.clamp(min=1e-12)).sqrt(), 0.0)
        return flux + sigma * draw.normal(flux.shape[1]), ivar / growth**2

    def _coarser(self, flux: Tensor, ivar: Tensor, draw: "_Draw") -> tuple[Tensor, Tensor]:
        """Read some spectra off a grid of twice the pixel; both halves share the information of the whole."""
        whole = flux.shape[1] // 2 * 2
        pairs, weights = in_groups(flux[:, :whole], 2), in_groups(ivar[:, :whole], 2)
        both = (weights > 0).all(dim=2)
        variance = torch.where(both, (1 / weights.clamp(min=1e-12)).mean(dim=2), 1.0)
        coarse = torch.where(both, pairs.mean(dim=2), 0.0).repeat_interleave(2, dim=1)
        information = torch.where(both, 1 / variance, 0.0).repeat_interleave(2, dim=1)
        chosen = draw.even() < self.settings.coarse
        flux, ivar = flux.clone(), ivar.clone()
        flux[:, :whole] = torch.where(chosen, coarse, flux[:, :whole])
        ivar[:, :whole] = torch.where(chosen, information, ivar[:, :whole])
        return flux, ivar

    def _kept(self, draw: "_Draw", pixels: int) -> Tensor:
        """Return ``(n, pixels)`` 0 where a gap or the end of another survey hides a pixel."""
        place = (torch.arange(pixels) + 0.5) / pixels
        first, last = draw.even() * self.settings.end_share, 1 - draw.even() * self.settings.end_share
        # For half of the spectra the ends stay: most are of the survey they came from.
        kept = ((place >= first) & (place <= last)) | (draw.even() < 0.5)
        for _ in range(GAPS):
            start, length = draw.even(), 2 * draw.even() * self.settings.gap_share / GAPS
            kept &= (place < start) | (place >= start + length)
        return kept.float()

    @cached_property
    def _reddening(self) -> Tensor:
        """Return ``(pixels,)`` the logarithm of the light left by an E(B−V) of 1 mag."""
        return torch.from_numpy(np.log(extinction(self.grid.wavelength_AA, 1.0))).float()


@dataclass(frozen=True, slots=True)
class _Draw:
    n: int
    generator: Generator

    def even(self) -> Tensor:
        return torch.rand(self.n, 1, generator=self.generator)

    def normal(self, size: int = 1) -> Tensor:
        return torch.randn(self.n, size, generator=self.generator)


def _rescaled(flux: Tensor, ivar: Tensor) -> tuple[Tensor, Tensor]:
    """Bring each spectrum to a median size of 1 again, as `tensors.stack` gives it."""
    size = torch.where(ivar > 0, flux.abs(), torch.nan).nanmedian(dim=1, keepdim=True).values
    scale = torch.where(size > 0, size, 1.0)  # NaN too: nothing left
    return flux / scale, ivar * scale**2
