"""What every column of a split's files holds, in words: for cards and Croissant metadata."""

from collections.abc import Mapping

import pyarrow as pa

from specvi_benchmark.splits.schema import SCHEMA, leaves

_TOOL = "extra_info.tools_kwargs.spectral_visualization_tool.create_kwargs"

CONTENT: Mapping[str, str] = {
    "images.bytes": "PNG of the whole spectrum",
    "images.path": "name of the picture, or null",
    "data_source": "task, in the published spelling",
    "prompt.content": "text of a message",
    "prompt.role": "system or user",
    "reward_model.ground_truth": "YES or NO",
    "reward_model.type": "rule",
    "agent_name": "tool_agent",
    "extra_info.index": "id of the candidate, unique",
    "extra_info.name": "file name of the spectrum",
    f"{_TOOL}.flux": "flux per unit wavelength, unit of the survey",
    f"{_TOOL}.wavelength": "vacuum Å, observed frame",
    f"{_TOOL}.redshift": "the survey's redshift, or null",
    "specvi.part": "train, dev, cal or test",
    "specvi.track": "main, cross-survey, cross-task or extreme",
    "specvi.survey": "survey of the spectrum",
    "specvi.release": "its data release",
    "specvi.survey_id": "the survey's own id",
    "specvi.format": "reader that read it",
    "specvi.object_id": "which object it is of",
    "specvi.object_id_source": "what that rests on",
    "specvi.ra_deg": "right ascension, degrees (ICRS)",
    "specvi.dec_deg": "declination, degrees (ICRS)",
    "specvi.gaia_id": "Gaia source id",
    "specvi.mjd": "night, modified Julian date",
    "specvi.snr": "median of flux·√ivar over good pixels",
    "specvi.header_snr.band": "band of a S/N that the survey states",
    "specvi.header_snr.snr": "that S/N",
    "specvi.claims.object_class": "class by the survey's pipeline: a claim",
    "specvi.claims.subclass": "subclass by the pipeline: a claim",
    "specvi.claims.redshift": "redshift by the pipeline: a claim",
    "specvi.claims.redshift_warning": "its warning flag",
    "specvi.label_source": "where the truth comes from",
    "specvi.label_evidence": "JSON: what the truth rests on",
    "specvi.decidable": "whether the truth can be told from this spectrum",
    "specvi.as_published": "whether prompt and picture came with the row",
    "specvi.ivar": "inverse variance of the flux, 0: no information",
    "specvi.mask": "true where a pixel is bad",
}


def columns() -> list[tuple[str, pa.DataType, str]]:
    """Return (dotted path, type of the value, what it holds) of every value in a file of the suite."""
    return [(path, kind, CONTENT[path]) for path, kind in leaves(SCHEMA).items()]
