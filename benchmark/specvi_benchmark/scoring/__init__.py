"""From answers to numbers: arrays in, frozen results out. Knows neither runs nor files.

`ledger` counts, `metrics` divides, `intervals` says how far chance reaches, `results` puts them together,
`compare` holds systems against each other.
"""

from specvi_benchmark.scoring.ledger import CALLS, Group, Rows
from specvi_benchmark.scoring.metrics import RULE
from specvi_benchmark.scoring.results import SCORING_VERSION, Results, ScoredSplit, score

__all__ = ["CALLS", "RULE", "SCORING_VERSION", "Group", "Results", "Rows", "ScoredSplit", "score"]
