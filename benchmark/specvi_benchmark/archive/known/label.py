"""Catalogue tables brought to an archive: every listing of a spectrum's object, weighed by the rules."""

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from specvi_benchmark.archive.catalogue import Catalogue, Matches, match, read_catalogue, remarks_on
from specvi_benchmark.archive.known.rules import DOUBTFUL, CatalogueRule, LabelRules, matching_files
from specvi_benchmark.archive.labelling import Known, LabelReport, label_archive, write_list
from specvi_benchmark.archive.objects import group_objects
from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.spectrum import BoolArray


@dataclass(frozen=True, slots=True)
class Listing:
    """One row of a catalogue that is about a spectrum, or about its object.

    ``by``: ``spectrum`` where the row names this very spectrum, else ``gaia`` or ``position``. ``contradicted``:
    the row's id and its position are of two objects, of which this is one.
    """

    catalogue: str
    row: int
    as_: str
    value: str | None
    by: str
    separation_arcsec: float | None
    contradicted: bool = False


@dataclass(frozen=True, slots=True)
class KnownReport:
    """What labelling by catalogues did.

    Attributes
    ----------
    labels
        Spectra, labelled ones, objects.
    matched
        Rows of each catalogue that found a spectrum, of those that there are.
    unclassed
        Rows of each catalogue to which no rule of its own gives a class.
    without
        Catalogues that were not there.
    doubtful
        Objects that a trap made doubtful, by class.
    undecidable
        Spectra that can't be decided, by reason.
    remarks
        Rows whose id and position contradict each other, and the like.
    """

    labels: LabelReport
    matched: Mapping[str, tuple[int, int]]
    unclassed: Mapping[str, int]
    without: tuple[str, ...]
    doubtful: Mapping[str, int]
    undecidable: Mapping[str, int]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Spectra:
    """The archive as a catalogue, and the object of every row."""

    table: Catalogue
    ids: list[str]
    objects: Sequence[str]
    object_class: list[str | None]
    subclass: list[str | None]


class _Pair(NamedTuple):
    """A row of a table, a row of the archive, what they share, and how far apart they lie."""

    row: int
    partner: int
    by: str
    separation_arcsec: float
    contradicted: bool = False


@dataclass(slots=True)
class _Found:
    listings: dict[int, list[Listing]] = field(default_factory=lambda: defaultdict(list))
    matched: dict[str, tuple[int, int]] = field(default_factory=dict)
    unclassed: dict[str, int] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def label_by_catalogues(
    archive: Path,
    tables: Path,
    rules: LabelRules,
    name: str,
    *,
    without: Sequence[str] = (),
    ordinary: Path | None = None,
) -> KnownReport:
    """Write the labels of an archive by catalogue tables, in place of older ones of that name.

    Rows are matched by spectrum, Gaia id, then position (`catalogue.match`). What one spectrum of an object
    is listed as, the object is known as. Then: an object that a trap names is doubtful; so is a class that
    medium-resolution spectra alone support, or a row whose id and position contradict each other; and a spectrum of a changing class that no row names itself is
    not decidable, since its label comes from another night.

    Parameters
    ----------
    tables
        Folder of catalogue tables, named as the rules say.
    without
        Catalogues that may be lacking although they are needed. Label source and report name them.
    ordinary
        Table of the spectra that are in the archive by the survey's own odds; None: all are.

    Raises
    ------
    UserError
        A needed catalogue is lacking, a table can't be read, or has none of the columns a rule asks for.
    """
    files = matching_files(tables, rules)
    lacking = _require(files, rules, without, tables)
    spectra = _read_archive(archive)
    found = _Found()
    for key, item in rules.catalogues.items():
        for path in files[key]:
            _match_table(path, key, item, spectra, found)
    random = _ordinary(ordinary, spectra)
    known, doubtful, undecidable = _weigh(spectra, found, rules, random)
    source = f"{rules.name} {rules.version}: " + ", ".join(
        key for key in rules.catalogues if key not in lacking
    )
    if lacking:
        source += f" (without {', '.join(lacking)})"
    labels = label_archive(archive, name, source, known, rules.classes)
    return KnownReport(
        labels=labels,
        matched=found.matched,
        unclassed=found.unclassed,
        without=lacking,
        doubtful=doubtful,
        undecidable=undecidable,
        remarks=tuple(found.remarks),
    )


def _require(
    files: Mapping[str, tuple[Path, ...]], rules: LabelRules, without: Sequence[str], folder: Path
) -> tuple[str, ...]:
    if strange := sorted(set(without) - set(rules.catalogues)):
        raise UserError(
            "no such catalogue in the rules",
            where="--without",
            expected=", ".join(rules.catalogues),
            got=", ".join(strange),
        )
    lacking = tuple(key for key, paths in files.items() if not paths)
    needed = [key for key in lacking if rules.catalogues[key].needed and key not in without]
    if needed:
        told = [f"{key} ({rules.catalogues[key].cites}, {rules.catalogues[key].address})" for key in needed]
        raise UserError(
            "catalogue tables are lacking; what they alone know would become a negative",
            where=folder,
            expected="; ".join(f"{key}: {' or '.join(rules.catalogues[key].files)}" for key in needed),
            got=f"without {examples(told, limit=20)}",
            fix="get the tables, or admit the gap with --without NAME",
        )
    return lacking


def _read_archive(archive: Path) -> _Spectra:
    with tempfile.TemporaryDirectory(prefix="specvi-known-") as folder:
        path = Path(folder) / "archive.parquet"
        write_list(archive, path)
        table = read_catalogue(path)
    ra, dec = table.positions()
    columns = {
        key: table.table.column(key).to_pylist()
        for key in ("id", "gaia_source_id", "object_class", "subclass")
    }
    objects = group_objects(columns["id"], ra, dec, columns["gaia_source_id"])
    return _Spectra(table, columns["id"], objects.ids, columns["object_class"], columns["subclass"])


def _match_table(path: Path, key: str, item: CatalogueRule, spectra: _Spectra, found: _Found) -> None:
    wanted = read_catalogue(path)
    found.remarks += remarks_on(wanted)
    _require_keys(wanted, key)
    values = {rule.column: _column(wanted, rule.column, key) for rule in item.classes if rule.column}
    pairs = list(_pairs(wanted, spectra, key, found))
    before = found.matched.get(key, (0, 0))
    found.matched[key] = (before[0] + len({pair.row for pair in pairs}), before[1] + len(wanted))
    unclassed = set()
    for row, partner, by, apart, contradicted in pairs:
        rule = next(
            (one for one in item.classes if one.fits(values[one.column][row] if one.column else None)), None
        )
        if rule is None:
            unclassed.add(row)
            continue
        value = values[rule.column][row] if rule.column else None
        near = round(apart, 2) if np.isfinite(apart) else None
        found.listings[partner].append(Listing(key, row, rule.as_, value, by, near, contradicted))
    found.unclassed[key] = found.unclassed.get(key, 0) + len(unclassed)


def _require_keys(wanted: Catalogue, key: str) -> None:
    """Refuse a table of which no row says what it is about: its members would become negatives."""
    ids = any(wanted.has(role) and wanted.ids(role).any() for role in ("obsid", "gaia"))
    ours = wanted.has("id") and any(":" in (text or "") for text in wanted.texts("id"))
    if ids or ours or any(wanted.spectrum_names()) or np.isfinite(wanted.positions()[0]).any():
        return
    raise UserError(
        "no row of a catalogue says which object it is about",
        where=f"{wanted.where} (catalogue {key})",
        expected="obsids, spectrum names, Gaia ids, or positions of equinox 2000",
        got="; ".join([examples(wanted.table.column_names, limit=20), *wanted.notes]),
        fix="get the table with its positions (VizieR computes _RAJ2000 and _DEJ2000), or rename the columns that hold them",
    )


def _pairs(wanted: Catalogue, spectra: _Spectra, key: str, found: _Found) -> Iterator[_Pair]:
    """Yield what belongs together: by the archive's own ids where a row has one, else by `match`.

    A row whose id and position lie at two objects is about one of them, and nobody knows which: it is paired with
    both, as contradicted.
    """
    places = {name: place for place, name in enumerate(spectra.ids)}
    named = wanted.texts("id") if wanted.has("id") else [None] * len(wanted)
    own = [places.get(name or "") for name in named]
    for row, partner in enumerate(own):
        if partner is not None:
            yield _Pair(row, partner, "spectrum", 0.0)
    others = np.array([row for row, partner in enumerate(own) if partner is None], np.int64)
    matches = match(wanted.take(others), spectra.table)
    contradicted = matches.contradictions()
    yield from _as_pairs(others, matches, contradicted)
    odd = others[np.unique(matches.rows[contradicted])]
    if odd.size:
        found.remarks.append(
            f"{key}: {odd.size} rows share an id with a spectrum that lies elsewhere; what is at either place is doubtful"
        )
        there = match(wanted.take(odd).by_position(), spectra.table)
        yield from _as_pairs(odd, there, np.ones(there.rows.size, np.bool_))


def _as_pairs(rows: np.ndarray, matches: Matches, contradicted: BoolArray) -> Iterator[_Pair]:
    """Yield matches of some rows of a table as pairs of the table."""
    columns = (rows[matches.rows], matches.partners, matches.by, matches.separation_arcsec, contradicted)
    yield from map(_Pair._make, zip(*(column.tolist() for column in columns), strict=True))


def _column(table: Catalogue, names: Sequence[str], key: str) -> list[str | None]:
    columns = {name.casefold(): name for name in table.table.column_names}
    there = next((columns[name.casefold()] for name in names if name.casefold() in columns), None)
    if there is None:
        raise UserError(
            "a rule asks for a column that the table lacks",
            where=f"{table.where} (catalogue {key})",
            expected=f"one of {', '.join(names)}",
            got=examples(table.table.column_names, limit=20),
            fix="name the column in a rules file of your own: --rules FILE",
        )
    return [None if cell is None else str(cell).strip() for cell in table.table.column(there).to_pylist()]


def _ordinary(path: Path | None, spectra: _Spectra) -> frozenset[int] | None:
    """Return the rows that are there by the survey's own odds; None: all."""
    if path is None:
        return None
    matches = match(read_catalogue(path), spectra.table)
    return frozenset(matches.partners[matches.by == "spectrum"].tolist())


def _weigh(
    spectra: _Spectra, found: _Found, rules: LabelRules, random: frozenset[int] | None
) -> tuple[dict[str, Known], Mapping[str, int], Mapping[str, int]]:
    """Return what is known of each spectrum, the doubtful objects by class, and the undecidable spectra by reason."""
    of_object: dict[str, list[int]] = defaultdict(list)
    for row, name in enumerate(spectra.objects):
        of_object[name].append(row)
    doubtful: Counter[str] = Counter()
    undecidable: Counter[str] = Counter()
    known: dict[str, Known] = {}
    for rows in of_object.values():
        listed = [listing for row in rows for listing in found.listings.get(row, ())]
        claimed = {claim for row in rows for claim in _claims(spectra, row, rules)}
        classes, reasons = _classes(listed, rules)
        doubtful.update(name.removeprefix(DOUBTFUL) for name in classes if name.startswith(DOUBTFUL))
        for row in rows:
            there = random is None or row in random
            if not (listed or claimed) and there:
                continue
            why = _another_night(classes, found.listings.get(row, ()), rules)
            undecidable.update([why] if why else [])
            known[spectra.ids[row]] = Known(
                frozenset(classes | claimed),
                _evidence(listed, found.listings.get(row, ()), rules, reasons, why),
                decidable=why is None,
                random=there,
            )
    return known, dict(doubtful), dict(undecidable)


def _claims(spectra: _Spectra, row: int, rules: LabelRules) -> Iterator[str]:
    for rule in rules.claims:
        if rule.fits(spectra.object_class[row], spectra.subclass[row]):
            yield rule.as_


def _classes(listed: Sequence[Listing], rules: LabelRules) -> tuple[set[str], list[str]]:
    """Return the classes of an object by all its listings, and why some of them are doubtful."""
    sound = [item for item in listed if not item.contradicted]
    certain = {item.as_ for item in sound if rules.catalogues[item.catalogue].resolution == "low"}
    every = {item.as_ for item in listed}
    classes, reasons = set(every), []
    for name in sorted(every):
        contradicting = [trap for trap in rules.traps if trap.known == name and every & set(trap.also)]
        if name not in certain:
            only = [item for item in sound if item.as_ == name]
            reasons.append(
                f"{name}: known from medium-resolution spectra alone"
                if only
                else f"{name}: known by a row alone whose id and position contradict each other"
            )
        reasons += [f"{name}: {trap.why}" for trap in contradicting]
        if contradicting or name not in certain:
            classes.remove(name)
            classes.add(f"{DOUBTFUL}{name}")
    return classes, reasons


def _another_night(classes: set[str], own: Sequence[Listing], rules: LabelRules) -> str | None:
    """Return why a spectrum of an object of a changing class can't be decided; None where it can."""
    named = {item.as_ for item in own if item.by == "spectrum" and not item.contradicted}
    for name in rules.changing:
        if name in classes and name not in named:
            return f"the label {name} comes from another spectrum of the object"
    return None


def _evidence(
    listed: Sequence[Listing],
    own: Sequence[Listing],
    rules: LabelRules,
    doubts: Sequence[str],
    undecidable: str | None,
) -> dict[str, Any]:
    told = [_entry(item, rules, same_spectrum=item in own and item.by == "spectrum") for item in listed]
    unique = [entry for place, entry in enumerate(told) if entry not in told[:place]]
    evidence: dict[str, Any] = {"catalogues": unique}
    subtypes = [item.value or item.as_ for item in listed]
    if subtypes:
        evidence["kind"] = subtypes[0]
    if doubts:
        evidence["doubts"] = list(doubts)
    if undecidable:
        evidence["undecidable_because"] = undecidable
    return evidence


def _entry(item: Listing, rules: LabelRules, *, same_spectrum: bool) -> dict[str, Any]:
    rule = rules.catalogues[item.catalogue]
    return {
        "catalogue": item.catalogue,
        "cites": rule.cites,
        "address": rule.address,
        "row": item.row,
        "class": item.as_,
        "value": item.value,
        "matched_by": item.by,
        "separation_arcsec": item.separation_arcsec,
        "names_this_spectrum": same_spectrum,
        "resolution": rule.resolution,
    }
