"""Nothing proven ever differs: random models on random rows, run as one query and as one per partition."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from prover_models import READERS, Maker, Trial


class _Picks:
    """Choices drawn by hypothesis, so that it can shrink what it finds."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data

    def __call__(self, of: Sequence[Any]) -> Any:
        return of[self.data.draw(st.integers(0, len(of) - 1))]


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.integers(0, 5), st.randoms(use_true_random=False))
def test_proven_never_differs(data: st.DataObject, seed: int, rows: random.Random) -> None:
    pick = _Picks(data)
    trial = _trial(seed)
    reader = pick(list(READERS))
    code = Maker(pick, reader).model()
    node = trial.add("tried", code, reader)
    judged = trial.verdict(node)
    if judged is None or judged[0].kind != "proven":
        return
    verdict, ready = judged
    found = trial.both(node, ready, rows.choice)
    if found is not None:
        note(f"{reader}\n{code}\n{verdict}")
        assert found[0] == found[1]


_TRIALS: dict[int, Trial] = {}


def _trial(seed: int) -> Trial:
    """Tables by number: few, as making them takes longer than trying a model."""
    if seed not in _TRIALS:
        _TRIALS[seed] = Trial(random.Random(seed).choice)
    return _TRIALS[seed]
