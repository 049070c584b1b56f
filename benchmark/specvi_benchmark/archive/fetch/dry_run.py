"""What a fetch would bring: how many files, how many bytes, how long. Asks for sizes of a few files, and fetches none."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from specvi_benchmark.archive.fetch.asked import Asked
from specvi_benchmark.archive.fetch.client import Client, Politeness
from specvi_benchmark.archive.fetch.item import Item, Scheme
from specvi_benchmark.archive.fetch.run import all_items

SAMPLE = 8
"""Files whose size is asked for."""
ASSUMED_BYTES_PER_S = 5e6
"""Of the line, for the time; said beside it."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a fetch would bring.

    Attributes
    ----------
    files, already
        To fetch, and here already.
    size
        Bytes to fetch: the mean size of those asked for, times their number.
    sizes_told
        Files of the sample whose size the server told. 0: the size is the survey's usual one.
    seconds
        At least, by the rate of requests and by `ASSUMED_BYTES_PER_S`.
    first_address
        An example.
    """

    files: int
    already: int
    size: int
    sizes_told: int
    seconds: float
    first_address: str | None


def estimate(
    scheme: Scheme,
    asked: Asked,
    archive: Path,
    politeness: Politeness,
    *,
    catalogues: Sequence[Item] = (),
    limit: int | None = None,
) -> Estimate:
    """Count what `fetch` would fetch. Search services are asked, and the sizes of `SAMPLE` files.

    Raises
    ------
    UserError
        As `fetch`.
    """
    return asyncio.run(_estimate(scheme, asked, archive / scheme.folder, politeness, catalogues, limit))


async def _estimate(
    scheme: Scheme,
    asked: Asked,
    folder: Path,
    politeness: Politeness,
    catalogues: Sequence[Item],
    limit: int | None,
) -> Estimate:
    files = already = 0
    sample: list[Item] = []
    rng = random.Random(0)  # noqa: S311  # which files are asked for is no secret
    async with Client(scheme, politeness) as client:
        async for item in all_items(scheme, asked, catalogues, client):
            if _is_here(folder, item):
                already += 1
                continue
            if files == limit:
                break
            files += 1
            if len(sample) < SAMPLE:
                sample.append(item)
            elif (
                place := rng.randrange(files)
            ) < SAMPLE:  # each file has the same chance to be in the sample
                sample[place] = item
        sizes = [size for item in sample if (size := await _size(client, item)) is not None]
    mean = sum(sizes) / len(sizes) if sizes else scheme.typical_bytes
    size = round(mean * files)
    seconds = max(files / politeness.per_second, size / ASSUMED_BYTES_PER_S)
    return Estimate(files, already, size, len(sizes), seconds, sample[0].addresses[0] if sample else None)


async def _size(client: Client, item: Item) -> int | None:
    """Return the size that the server tells of a file, None where it tells none."""
    if item.post is not None:
        return None
    for address in item.addresses:
        try:
            async with client.ask(address, head=True) as response:
                length = response.headers.get("Content-Length", "")
                if response.status == 200 and length.isdigit():  # OK
                    return int(length)
        except (aiohttp.ClientError, TimeoutError):
            return None
    return None


def _is_here(folder: Path, item: Item) -> bool:
    return (folder / item.path).exists()
