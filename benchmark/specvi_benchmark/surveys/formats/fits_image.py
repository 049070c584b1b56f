"""Any 1-D FITS image with a linear or logarithmic wavelength axis, as IRAF writes it."""

from collections.abc import Iterator

import numpy as np

from specvi_benchmark.errors import examples
from specvi_benchmark.spectrum import FloatArray, Spectrum
from specvi_benchmark.surveys.fits import Hdu
from specvi_benchmark.surveys.formats._columns import Column, Roles, read_columns
from specvi_benchmark.surveys.formats._fits_axis import commentary, header_medium, image_grid, image_unit
from specvi_benchmark.surveys.formats._values import known_text
from specvi_benchmark.surveys.registry import Format, Note
from specvi_benchmark.surveys.source import Source


def recognises(source: Source) -> bool:
    """Return whether the first image is one line with CRVAL1, and no table holds wavelengths and fluxes."""
    return _image(source) is not None


def read(source: Source) -> Iterator[Spectrum | Note]:
    """Yield the spectrum on the grid of CRVAL1, CDELT1 or CD1_1, CRPIX1; DC-FLAG or CTYPE1 say logarithmic."""
    hdu = _image(source)
    assert hdu is not None and source.fits is not None  # noqa: PT018  # one fact
    header = hdu.header
    pixels = hdu.image()
    bands = pixels.reshape(-1, pixels.shape[-1])
    grid = image_grid(source, header, pixels.shape[-1])
    sigma = _sigma_band(hdu, bands)
    roles = Roles(
        Column("wavelength", image_unit(header)),
        Column("flux", known_text(header.text("BUNIT")) or ""),
        sigma=None if sigma is None else Column("sigma"),
        sigma_is="sigma",
    )
    arrays = {"wavelength": grid, "flux": bands[0].astype(np.float64), "sigma": sigma}
    if "CRPIX1" not in header:
        yield Note("CRPIX1 is missing: CRVAL1 is taken as the wavelength of the first pixel")
    others = [other.name or f"HDU {other.index}" for other in source.fits.hdus if other.is_image]
    if len(others) > 1:
        yield Note(f"images beside the flux are not read, be they errors or masks: {examples(others[1:])}")
    if len(bands) > 1:
        yield Note(
            f"of {len(bands)} bands the first is read"
            + (", and the sigma band as errors" if sigma is not None else "")
        )
    yield from read_columns(
        source,
        roles,
        lambda column: arrays[column.name],
        remarks="\n".join([commentary(source.fits), *(key for key in header if key.startswith("DOPCOR"))]),
        media=(header_medium(header),),
        format=FORMAT.name,
        survey_id=known_text(header.text("OBJECT")) or "",
    )


def _image(source: Source) -> Hdu | None:
    """Return the first image of the file, if it is one line, or bands of one line as apall writes them."""
    if source.fits is None:
        return None
    hdu = next((hdu for hdu in source.fits.hdus if hdu.is_image), None)
    if hdu is None or "CRVAL1" not in hdu.header:
        return None
    lines = len(hdu.shape) == 1 or set(hdu.shape[:-1]) == {1}
    bands = len(hdu.shape) == 3 and hdu.shape[1] == 1 and "BANDID1" in hdu.header
    return hdu if (lines or bands) and hdu.shape[-1] > 1 else None


def _sigma_band(hdu: Hdu, bands: np.ndarray) -> FloatArray | None:
    """Return the band that BANDIDn calls sigma, None where there is none."""
    for number, band in enumerate(bands, start=1):
        if (hdu.header.text(f"BANDID{number}") or "").lower().startswith("sigma"):
            return np.asarray(band, dtype=np.float64)
    return None


FORMAT = Format(
    name="fits-image",
    recognised_by="an image of one line (or apall's bands of one line) with CRVAL1, and no other format knows it",
    reads="flux on the grid of CRVAL1, CDELT1 or CD1_1, CRPIX1, linear or logarithmic (DC-FLAG = 1, WAVE-LOG); units from CUNIT1, "
    "WAT1_001, BUNIT; apall's sigma band as errors; air or vacuum from CTYPE1 (AWAV, WAVE), AIRORVAC, VACUUM, COMMENT, HISTORY",
    leaves_out="non-linear axes (MULTISPE): refused; sky and unweighted bands",
    recognises=recognises,
    read=read,
    medium="stated",
    general=True,
    range_AA=None,
)
