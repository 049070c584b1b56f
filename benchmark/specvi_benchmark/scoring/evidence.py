"""What ``results.json`` holds on evidence: do the claims stand in the flux, and did the system look where it matters?"""

from typing import Literal

from specvi_benchmark.files import StrictModel
from specvi_benchmark.scoring.measure import Measure
from specvi_benchmark.tasks.task import Track

ExampleOf = Literal["unsupported", "contradicted", "unsupported YES", "wrong wavelength"]


class Example(StrictModel):
    """One claim to look at: what was said, and what the flux says (in words)."""

    of: ExampleOf
    id: str
    sentence: str
    claim: str
    flux: str


class DecisiveScore(StrictModel):
    """Of the right YES answers with text, what their decisive claims come to. The five counts sum to ``n``.

    ``found``: at least one decisive claim is in the flux, and a view showed it. ``not_found``: some were made and
    tested, none is there. ``not_shown``: what is there was in no view. ``not_testable``: made, but none could be tested.
    ``none``: no decisive claim was made. ``share`` is ``found`` over ``n``.
    """

    n: int
    found: int
    not_found: int
    not_shown: int
    not_testable: int
    none: int
    share: Measure


class ClaimScore(StrictModel):
    """All tested claims of a task.

    ``unsupported`` is the share of presences claimed that are not found; ``contradicted`` the share of all tested
    claims that the flux denies: an absence claimed of what is found, or the opposite found of what was claimed.
    ``widths_wrong`` of ``widths`` FWHM given are off by more than a factor of 2.
    """

    present: int
    absent: int
    uncertain: int
    not_shown: int
    not_testable: int
    wrong_wavelength: int
    widths: int
    widths_wrong: int
    unsupported: Measure
    contradicted: Measure


class LookScore(StrictModel):
    """Where the system looked: means a candidate, None where nothing has a tool.

    ``windows_shown`` is the share of the task's windows that a zoom showed; ``wasted`` the share of calls without a
    picture or repeating an earlier view; ``decisive_zoomed`` the share of decisive claims whose place a zoom showed.
    ``usual_order`` are the windows in the order of their mean place, those that at least half the inspections showed.
    """

    calls: float | None
    windows_shown: float | None
    wasted: float | None
    decisive_zoomed: float | None
    usual_order: tuple[str, ...]


class TaskEvidence(StrictModel):
    """The evidence of one task of one track; ``n`` candidates have text, ``without_text`` have none."""

    track: Track
    task: str
    n: int
    without_text: int
    decisive: DecisiveScore
    claims: ClaimScore
    looked: LookScore
    examples: tuple[Example, ...]


class Evidence(StrictModel):
    """The evidence of a run. Only the first sample of each inspection counts."""

    extractor_version: int
    measure_version: int
    tasks: tuple[TaskEvidence, ...]
