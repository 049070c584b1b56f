"""A small archive of a LAMOST-like survey with SDSS and DESI counterparts, and made-up catalogue tables for it.

The light is simulated; names and ids are those a survey would give, so that recipes for real surveys run on it.
"""

import csv
from dataclasses import dataclass, replace
from pathlib import Path

from specvi_benchmark.archive.ingest.step import ShardWriter
from specvi_benchmark.archive.store import Store, spectrum_key
from specvi_benchmark.archive.store.blocks import FileEntry, write_block
from specvi_benchmark.archive.store.packing import Ingested
from specvi_benchmark.splits.archive import Key
from specvi_benchmark.splits.recipe import load_recipe
from specvi_benchmark.splits.simulated import SHARD, SimulatedArchive

FIELD = {"fg-star": 3, "k-giant": 2, "k-dwarf": 1}
RARE = {
    "cv-quiescent": 3, "cv-polar": 1, "carbon-n": 3, "carbon-h": 2, "s-star": 4, "m-giant": 6, "wd-da": 3, "wd-db": 1,
    "o-star": 3, "b-star": 4, "a-star": 4, "quasar": 4,
    "be-star": 3, "planetary-nebula": 2, "barium-star": 4, "m-dwarf": 5, "sda-star": 4, "subdwarf-b": 4, "bhb-star": 4,
    "agn": 4, "seyfert-2": 2, "star-forming-galaxy": 3, "active-m-dwarf": 3, "sc-star": 1,
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One spectrum of the archive: what stands in a table about it, and its true kind."""

    id: str
    survey: str
    obsid: str
    file: str
    ra: float
    dec: float
    kind: str
    object_id: str
    snr: float


def simulated(size, seed=5):
    source = load_recipe("mini").source.model_copy(
        update={"size": size, "seed": seed, "field": FIELD, "rare": RARE, "overlap": 0.4, "second_visit": 0.1}
    )
    return SimulatedArchive(source)


def build(archive: Path, size: int, seed=5, first_obsid=100_000_001, release="DR10") -> list[Row]:
    """Write the archive as ingesting would; return what is in it."""
    sky = simulated(size, seed)
    store = Store.create(archive)
    rows = []
    number = len(store.blocks)
    for shard in range(sky.shards):
        writer = ShardWriter(archive, number)
        for place, record in enumerate(sky.read_shard(shard)):
            seen = [record, *(sky.counterpart(Key(shard, place), survey) for survey in ("sdss", "desi"))]
            for found in seen:
                if found is not None:
                    obsid = str(first_obsid + shard * SHARD + place)
                    rows.append(_add(writer, found, obsid, release))
        drafts = writer.finish()
        write_block(
            archive, number, [FileEntry(f"made/{number}", 0, 0, spectra=len(rows))], [d.shard for d in drafts]
        )
        number += 1
    return rows


def _add(writer, record, obsid, release):
    survey = record.spectrum.survey.removeprefix("simulated-")
    fibre = int(obsid) % 250 + 1
    name = {
        "lamost": f"spec-{record.spectrum.mjd}-F{obsid}_sp01-{fibre:03d}.fits",
        "sdss": f"spec-{int(obsid) % 9000 + 1000:04d}-{record.spectrum.mjd}-{int(obsid) // 9000 % 900 + 1:04d}.fits",
        "desi": f"coadd-{obsid}.fits",
    }[survey]
    spectrum = replace(
        record.spectrum, survey=survey, survey_id=obsid, name=name, format="made",
        release=release if survey == "lamost" else f"{survey}-release",
    )  # fmt: skip
    key = spectrum_key(spectrum, 0)
    writer.add(Ingested(key, name, 0, spectrum))
    (kind,) = record.known_as
    return Row(
        key, survey, obsid, name, spectrum.ra_deg, spectrum.dec_deg, kind, record.object_id, spectrum.snr
    )


def write_table(path: Path, columns, rows):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(rows)


def write_tables(folder: Path, rows):
    """Write every needed catalogue as its survey or paper would: by obsid, by file name, or by position alone."""
    folder.mkdir(parents=True, exist_ok=True)
    own = [row for row in rows if row.survey == "lamost"]

    def of(*prefixes):
        return [row for row in own if row.kind.startswith(prefixes)]

    def place(found):  # a catalogue of objects: each once
        once = {row.object_id: row for row in found}
        return [(row.ra, row.dec) for row in once.values()]

    at = ["ra", "dec"]
    write_table(
        folder / "dr10_v2.0_LRS_cv.csv", ["obsid", "ra", "dec"], [(r.obsid, r.ra, r.dec) for r in of("cv-")]
    )
    write_table(folder / "hou-2020.csv", at, place(of("cv-"))[:5])
    write_table(folder / "sun-2021.csv", at, place(of("cv-"))[5:9])
    sdss = [row for row in rows if row.survey == "sdss" and row.kind.startswith("cv-")]
    write_table(folder / "inight-2025.csv", ["file", *at], [(r.file, r.ra, r.dec) for r in sdss])
    desi = [row for row in rows if row.survey == "desi" and row.kind.startswith("cv-")]
    write_table(folder / "inspected.csv", ["id", "class"], [(r.id, "cv") for r in desi])
    carbon = [(r.obsid, "C-H" if r.kind == "carbon-h" else "C-N") for r in of("carbon-")]
    barium = [(r.obsid, "Ba") for r in of("barium-star")]
    write_table(folder / "li-2024.csv", ["obsid", "Type"], carbon + barium)
    write_table(folder / "stephenson-1984.csv", at, place(of("s-star")))
    giants = [(r.obsid,) for r in of("m-giant")]
    write_table(
        folder / "li-2023.csv", ["obsid"], giants + [(r.obsid,) for r in of("carbon-n")[:3]]
    )  # wrong rows
    write_table(folder / "zhong-2015.csv", at, place(of("m-giant"))[:10])
    write_table(folder / "guo-2019.csv", at, place(of("m-giant"))[10:14])
    m_stars = [(r.obsid, "gM3") for r in of("m-giant")] + [
        (r.obsid, "dM2") for r in of("m-dwarf", "active-m")
    ]
    write_table(folder / "dr10_v2.0_LRS_mstellar.csv", ["obsid", "subclass"], m_stars)
    write_table(
        folder / "dr10_v2.0_LRS_wd.csv",
        ["obsid", "wd_subclass"],
        [(r.obsid, r.kind[3:].upper()) for r in of("wd-")],
    )
    write_table(folder / "guo-2022.csv", at, place(of("wd-"))[:6])
    write_table(folder / "tan-2023.csv", at, place(of("wd-", "subdwarf-b"))[:20])
    write_table(folder / "gentile-fusillo-2021.csv", at, place(of("wd-")))
    hot = [(r.ra, r.dec, "O8 V" if r.kind == "o-star" else "B5 V") for r in of("o-star", "b-star")]
    write_table(folder / "liu-2019.csv", [*at, "SpType"], hot)
    write_table(
        folder / "dr10_v2.0_LRS_astellar.csv", ["obsid", "subclass"], [(r.obsid, "A5V") for r in of("a-star")]
    )
    write_table(folder / "tian-2023.csv", at, place(of("fg-star"))[:2])
    quasars = of("quasar")
    write_table(folder / "ai-2016.csv", at, place(quasars)[:5])
    write_table(folder / "dong-2018.csv", at, place(quasars)[5:9])
    write_table(folder / "dr10_v2.0_LRS_qso.csv", ["obsid"], [(r.obsid,) for r in quasars])
