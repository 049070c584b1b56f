"""The candidates of a board: who answered what, the spectra to look at, and inspections with their claims."""

import base64
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.evidence.claims import Claim, extract_claims
from specvi_benchmark.evidence.features import get_feature
from specvi_benchmark.evidence.inspected import Held, claimed_redshift, hold_against
from specvi_benchmark.evidence.score import claim_words, flux_words
from specvi_benchmark.features.frame import choose_shift
from specvi_benchmark.files import sha256_file
from specvi_benchmark.runs.beyond import subtype_of
from specvi_benchmark.runs.record import TRACES_FILE
from specvi_benchmark.scoring.ledger import NO, YES
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.splits import Candidate, Split
from specvi_benchmark.trace_page.text import visible
from specvi_benchmark.traces import TraceRecord, read_traces
from specvi_leaderboard.entry import Entry
from specvi_leaderboard.scored import kept_text

SPECTRA = 2_000
"""So many spectra go into a site; of more candidates, those on which systems differ most."""

TRACES = 10
"""So many inspections of each system and task; wrong answers first, then what it rightly found."""

PROMPT_CHARACTERS = 1_200
"""Of the turns that ask so much is shown."""

LEVELS = 32_000
"""Steps between lowest and highest flux of a spectrum."""

GAP = -32_768
"""A masked pixel."""

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Group:
    """The candidates of one task of one track; ``rows`` are their places in the split."""

    track: str
    task: str
    rows: tuple[int, ...]

    @property
    def name(self) -> str:
        """Return how files name it."""
        return f"{self.track}-{self.task}"


def groups_of(split: Split) -> tuple[Group, ...]:
    """Return the groups of a split in order of first appearance."""
    rows: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, candidate in enumerate(split.candidates):
        rows[candidate.track, candidate.task.key].append(place)
    return tuple(Group(track, task, tuple(places)) for (track, task), places in rows.items())


def group_data(group: Group, split: Split, entries: Sequence[Entry], drawn: set[int]) -> dict[str, Any]:
    """Return the candidates of a group and what every system called each: one digit a candidate.

    ``drawn`` are the places whose spectra are in the site.
    """
    members = [split.candidates[row] for row in group.rows]
    return {
        "track": group.track,
        "task": group.task,
        "id": [c.id for c in members],
        "truth": "".join(c.truth[0] for c in members),
        "snr": [None if c.spectrum.snr is None else round(c.spectrum.snr, 1) for c in members],
        "survey": [c.spectrum.survey for c in members],
        "subtype": [subtype_of(c) for c in members],
        "drawn": "".join("1" if row in drawn else "0" for row in group.rows),
        "calls": {
            entry.system.about.id: "".join(map(str, entry.rows.call[list(group.rows)])) for entry in entries
        },
    }


def drawn_rows(groups: Sequence[Group], entries: Sequence[Entry], traced: set[int]) -> set[int]:
    """Return the places of the candidates whose spectra go into the site, spread over the groups."""
    quota = max(1, SPECTRA // len(groups))
    calls = np.array([entry.rows.call for entry in entries if not entry.system.trivial])
    chosen = set(traced)
    for group in groups:
        rows = np.array(group.rows)
        yes = (calls[:, rows] == YES).mean(axis=0) if len(calls) else np.zeros(len(rows))
        most_disputed = np.argsort(np.abs(yes - 0.5), kind="stable")
        chosen |= set(rows[most_disputed[:quota]].tolist())
    return chosen


def spectrum_data(candidate: Candidate) -> dict[str, Any]:
    """Return a candidate and its spectrum, in the frame of its task.

    ``flux`` are little-endian int16: low + level · step, and `GAP` where masked; ``wave`` gives the wavelengths.
    """
    spectrum = candidate.spectrum
    shift = choose_shift(candidate.redshift, candidate.task.frame)
    good = spectrum.good
    values = spectrum.flux[good]
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    step = (high - low) / LEVELS or 1.0
    levels = np.where(good, np.rint((np.where(good, spectrum.flux, low) - low) / step), GAP)
    return {
        "id": candidate.id,
        "truth": candidate.truth,
        "frame": shift.words,
        "redshift": candidate.redshift,
        "survey": spectrum.survey,
        "release": spectrum.release,
        "name": spectrum.name or spectrum.survey_id,
        "object": candidate.object_id,
        "label": candidate.label_source,
        "subtype": subtype_of(candidate),
        "snr": spectrum.snr,
        "wave": _wavelengths(spectrum.wavelength_AA / (1 + shift.redshift)),
        "low": low,
        "step": step,
        "flux": _packed(levels.astype("<i2")),
        "noise": _noise(spectrum),
    }


def choose_traces(entry: Entry, groups: Sequence[Group], has_trace: set[int]) -> Iterator[int]:
    """Yield the places of the inspections of a system that are shown."""
    call, positive = entry.rows.call, entry.rows.positive
    right = np.where(positive, call == YES, call == NO)
    for group in groups:
        rows = [row for row in group.rows if row in has_trace]
        # Wrong answers and rightly found members by turns, then the rest.
        wrong = [row for row in rows if not right[row]]
        members = [row for row in rows if right[row] and positive[row]]
        rest = [row for row in rows if right[row] and not positive[row]]
        mixed = [row for pair in zip(members, wrong, strict=False) for row in pair]
        left = [row for row in (*members, *wrong) if row not in set(mixed)]
        yield from [*mixed, *left, *rest][:TRACES]


def traces_of(
    entry: Entry, folder: Path, split: Split, groups: Sequence[Group]
) -> Mapping[int, dict[str, Any]]:
    """Return place → inspection, with its claims held against the flux; none where the run has no traces.

    What was held against the flux once is kept.
    """
    path = folder / TRACES_FILE
    if entry.system.trivial or not path.is_file():
        return {}
    first = {(task, name): trace for (task, name, sample), trace in read_traces(path).items() if sample == 0}
    known = {(c.task.key, c.id): row for row, c in enumerate(split.candidates)}
    there = {known[key]: trace for key, trace in first.items() if key in known}
    wanted = list(choose_traces(entry, groups, set(there)))

    def made() -> str:
        return json.dumps(
            {row: inspection_data(split.candidates[row], there[row]) for row in wanted}, ensure_ascii=False
        )

    what = {"shown traces": sha256_file(path), "split": split.fingerprint, "rows": wanted}
    return {int(row): shown for row, shown in json.loads(kept_text(what, made)).items()}


def inspection_data(candidate: Candidate, trace: TraceRecord) -> dict[str, Any]:
    """Return the turns of an inspection and its last claims; wavelengths in the frame of the task."""
    question = candidate.question
    shift = choose_shift(question.redshift, question.task.frame).redshift
    inspected = hold_against(question, trace)
    said = [
        extract_claims(
            "\n".join(filter(None, (turn.reasoning, turn.text))), quasar=question.task.key == "qso"
        )
        if turn.role == "assistant"
        else []
        for turn in trace.turns
    ]
    seen: dict[int, list[list[float]]] = defaultdict(list)
    for view in inspected.looked.views:
        seen[view.turn].append([round(end / (1 + shift), 1) for end in view.range_AA])
    return {
        "turns": [
            {
                "role": turn.role,
                "text": _shown(turn.text, whole=turn.role not in {"system", "user"}),
                "reasoning": visible(turn.reasoning) if turn.reasoning else None,
                "calls": [[visible(call.name), visible(call.arguments)] for call in turn.tool_calls],
                "views": seen.get(number, []),
            }
            for number, turn in enumerate(trace.turns)
        ],
        "claims": [
            _claim_data(held, said, claimed_redshift(held.claim, question, shift) or 0.0, shift)
            for held in inspected.held
        ],
    }


def decisive_found(inspection: Mapping[str, Any]) -> list[str]:
    """Return the claimed features, as ``Hα emission``, that decide the task and are in the flux, each once."""
    return list(
        dict.fromkeys(
            claim["claim"].partition(",")[0]
            for claim in inspection["claims"]
            if claim["decisive"] and claim["verdict"] == "holds" and claim["outcome"] == "found"
        )
    )


def _claim_data(held: Held, said: Sequence[list[Claim]], redshift: float, shift: float) -> dict[str, Any]:
    claim = held.claim
    return {
        "turn": max((number for number, claims in enumerate(said) if claim in claims), default=len(said) - 1),
        "claim": visible(claim_words(claim)),
        "polarity": claim.polarity,
        "flux": visible(flux_words(held)),
        "outcome": held.outcome,
        "verdict": held.verdict,
        "decisive": held.is_decisive,
        "sentence": visible(claim.sentence),
        "places": [
            round(place.vacuum_AA * (1 + redshift) / (1 + shift), 1)
            for place in get_feature(claim.feature).places
        ],
    }


def _shown(text: str, *, whole: bool) -> str:
    written = visible(text)
    if whole or len(written) <= PROMPT_CHARACTERS:
        return written
    return f"{written[:PROMPT_CHARACTERS]}… ({len(written) - PROMPT_CHARACTERS:,} more characters)"


def _wavelengths(wavelength_AA: NDArray[np.float64]) -> dict[str, Any]:
    """Return a grid where there is one to a hundredth of an ångström, else float32 values."""
    n = len(wavelength_AA)
    for kind, values in (("log", np.log(wavelength_AA)), ("linear", wavelength_AA)):
        step = (values[-1] - values[0]) / max(1, n - 1)
        grid = values[0] + step * np.arange(n)
        if np.abs((np.exp(grid) if kind == "log" else grid) - wavelength_AA).max() < 0.01:
            return {"kind": kind, "start": float(values[0]), "step": float(step), "n": n}
    return {"kind": "values", "values": _packed(wavelength_AA.astype("<f4")), "n": n}


def _noise(spectrum: Spectrum) -> float | None:
    """Return the median error of a pixel, None where the source gives no errors."""
    ivar = spectrum.ivar[spectrum.good]
    ivar = ivar[ivar > 0]
    return float(np.median(1 / np.sqrt(ivar))) if spectrum.has_errors and ivar.size else None


def _packed(values: NDArray[Any]) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")
