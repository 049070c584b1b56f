"""DESI stacks: averages of many spectra on one grid."""

from collections.abc import Iterator

import numpy as np

from specvi_benchmark.spectrum import Claims, Spectrum, clean_spectrum
from specvi_benchmark.surveys.formats._values import cells, known_number, real_numbers
from specvi_benchmark.surveys.registry import Format, Skipped
from specvi_benchmark.surveys.source import Source

HDUS = ("FLUX", "IVAR", "WAVE", "STACKINFO")


def recognises(source: Source) -> bool:
    """Return whether the file has images FLUX, IVAR and WAVE, and a table STACKINFO."""
    return source.fits is not None and all(source.fits.get(name) is not None for name in HDUS)


def read(source: Source) -> Iterator[Spectrum | Skipped]:
    """Yield one spectrum a stack, on the stack's own wavelengths: STACKINFO.Z is its redshift there."""
    assert source.fits is not None
    hdus = [source.fits[name] for name in HDUS[:3]]
    flux, ivar, wave = (real_numbers(hdu.image(), hdu, hdu.name) for hdu in hdus)
    info = source.fits["STACKINFO"]
    if flux.ndim != 2 or ivar.shape != flux.shape or wave.shape != flux.shape[1:] or info.n_rows != len(flux):
        raise source.fault(
            "the arrays of the stack do not fit",
            expected="FLUX and IVAR (stacks, pixels), WAVE (pixels), a row of STACKINFO each",
            got=f"{flux.shape}, {ivar.shape}, {wave.shape}, {info.n_rows} rows",
        )
    for row in range(info.n_rows):
        about = cells(info, ("stackid", "z"), row)
        name = str(about.get("stackid", row))
        if not (np.isfinite(ivar[row]) & (ivar[row] > 0)).any():
            yield Skipped(row, name, "no pixel with information")
            continue
        yield clean_spectrum(
            wave,
            flux[row],
            ivar[row],
            format=FORMAT.name,
            survey="desi",
            survey_id=f"stack-{name}",
            name=f"{source.name}[{row}]",
            claims=Claims(redshift=known_number(about.get("z"))),
        )


FORMAT = Format(
    name="desi-stack",
    recognised_by="HDUs FLUX, IVAR, WAVE, STACKINFO",
    reads="one spectrum a stack, on its own wavelengths; STACKID and Z, its redshift on them (0: the stack is at rest)",
    leaves_out="how many spectra were averaged; stacks are no single objects, and have neither class nor position",
    recognises=recognises,
    read=read,
    range_AA=(300.0, 30000.0),  # stacks may be at rest: of quasars at z = 5, say
)
