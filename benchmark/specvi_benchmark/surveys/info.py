"""What was understood of a spectrum, in words."""

from specvi_benchmark.spectrum import Claims, Spectrum


def in_short(spectrum: Spectrum) -> str:
    """Say in one sentence what was read: survey, format, size, range, S/N and what the pipeline claims."""
    survey = " ".join(filter(None, (spectrum.survey.upper() or "unknown survey", spectrum.release)))
    low, high = spectrum.range_AA
    claimed = _claims(spectrum.claims)
    return (
        f"{survey} ({spectrum.format}), {spectrum.wavelength_AA.size} pixels, {low:.0f} to {high:.0f} Å, "
        f"{100 * spectrum.bad_fraction:.0f} % masked, {_snr(spectrum)}"
        + (f"; the pipeline says {claimed}" if claimed else "")
    )


def in_full(spectrum: Spectrum) -> list[str]:
    """Return everything that was understood of one spectrum, a line each."""
    first, last = spectrum.wavelength_AA[[0, -1]]
    good = "{:.1f}–{:.1f} Å".format(*spectrum.range_AA)
    header_snr = ", ".join(f"{band} {value:.1f}" for band, value in spectrum.header_snr.items())
    return [
        _line("name", spectrum.name),
        _line("format", spectrum.format),
        _line("survey", " ".join(filter(None, [spectrum.survey, spectrum.release])) or "unknown"),
        _line("id", spectrum.survey_id or "unknown"),
        _line("object", _object(spectrum)),
        _line("range", f"{first:.1f}–{last:.1f} Å (vacuum, observed); good pixels {good}"),
        _line("pixels", f"{spectrum.flux.size}, {100 * spectrum.bad_fraction:.1f} % masked"),
        _line("S/N", _snr(spectrum) + (f"; the file says {header_snr}" if header_snr else "")),
        _line("claims", _claims(spectrum.claims) or "no class, no redshift"),
    ]


def _object(spectrum: Spectrum) -> str:
    words = []
    if spectrum.ra_deg is not None and spectrum.dec_deg is not None:
        words.append(f"RA {spectrum.ra_deg:.5f}°, Dec {spectrum.dec_deg:+.5f}°")
    if spectrum.gaia_id is not None:
        words.append(f"Gaia {spectrum.gaia_id}")
    if spectrum.mjd is not None:
        words.append(f"MJD {spectrum.mjd}")
    return ", ".join(words) or "no position, no Gaia id, no date"


def _snr(spectrum: Spectrum) -> str:
    return "no errors given" if spectrum.snr is None else f"median S/N {spectrum.snr:.1f} a pixel"


def _claims(claims: Claims) -> str:
    words = [word for word in (claims.object_class, claims.subclass) if word]
    if claims.redshift is not None:
        words.append(f"z = {claims.redshift:.5f}")
    if claims.redshift_warning:
        words.append(f"redshift warning {claims.redshift_warning}")
    return " ".join(words)


def _line(key: str, text: str) -> str:
    return f"{key:<9}{text}"
