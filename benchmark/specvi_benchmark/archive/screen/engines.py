"""Where a screening runs: processes of this machine, or a Ray cluster. Both call the same function a shard.

On a cluster every machine must see the archive and the folder of results under the same paths, and have this
package installed.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeVar, get_args

from specvi_benchmark.errors import UserError
from specvi_benchmark.splits.workers import Pool, workers

Engine = Literal["local", "ray"]
ENGINES: tuple[Engine, ...] = get_args(Engine)

_WINDOW = 2_000  # shards in one Ray dataset: its plan stays small, and a stopped job knows what is done

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def engine(name: Engine, *, processes: int = 1, address: str | None = None) -> Iterator[Pool]:
    """Give the engine of that name; it ends with the block.

    Parameters
    ----------
    processes
        Of the local engine, and of a local Ray; a cluster uses what it has.
    address
        Of a Ray cluster, as ``ray://head:10001`` or ``auto``; None starts a local one.

    Raises
    ------
    UserError
        Ray is asked for and not installed, or an address is given to the local engine.
    """
    if name == "local":
        if address is not None:
            raise UserError("the local engine has no address", where="--address", fix="add --engine ray")
        with workers(processes) as pool:
            yield pool
        return
    with _ray(processes, address) as pool:
        yield pool


class _RayPool:
    """Calls through Ray Data: a row a call, results in order."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for every item, in order; an exception there is raised here."""
        window: list[Item] = []
        for item in items:
            window.append(item)
            if len(window) == _WINDOW:
                yield from self._run(function, window)
                window = []
        if window:
            yield from self._run(function, window)

    def _run(self, function: Callable[[Item], Result], window: list[Item]) -> Iterator[Result]:
        def call(row: dict[str, Any]) -> dict[str, Any]:
            return {"place": row["place"], "result": pickle.dumps(function(window[row["place"]]))}

        rows = self._data.from_items(
            [{"place": place} for place in range(len(window))], override_num_blocks=len(window)
        ).map(call)
        done = {}
        wanted = 0
        for row in rows.iter_rows():
            done[row["place"]] = pickle.loads(row["result"])  # noqa: S301 -- our own function made it
            while wanted in done:
                yield done.pop(wanted)
                wanted += 1


@contextmanager
def _ray(processes: int, address: str | None) -> Iterator[Pool]:
    try:
        import ray  # noqa: PLC0415 -- an extra, slow to import
        import ray.data  # noqa: PLC0415
    except ImportError:
        raise UserError(
            "the Ray engine needs packages that are not installed",
            where="--engine ray",
            got="missing: ray",
            fix="pip install 'specvi-bench[ray]'",
        ) from None
    if address is None:
        ray.init(num_cpus=processes, include_dashboard=False, log_to_driver=False, logging_level="error")
    else:
        ray.init(address=address, log_to_driver=False, logging_level="error")
    try:
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield _RayPool(ray.data)
    finally:
        ray.shutdown()
