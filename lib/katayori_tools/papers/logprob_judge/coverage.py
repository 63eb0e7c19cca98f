"""How often the interval of a gain in concordance holds what was planted."""

import numpy as np

from katayori_tools.papers.logprob_judge.simulate import gains, judged
from katayori_tools.simulate_kinds import Cell, Found, Kind


def draw_gain(rng: np.random.Generator, cell: Cell, draws: int) -> Found:
    """Concordance of the averaged verdict less that of calling a tie, as notebook 03 prints it."""
    gain = float(cell.case.removeprefix("gain = "))
    rows = gains(judged(rng, gain, cell.clusters, cell.per_cluster, draws))
    return list(zip(rows["ci_low"], rows["ci_high"], strict=True)), gain


KINDS = {
    "concordance gain": Kind(
        draw_gain,
        ("gain = 0", "gain = 0.06"),
        per_cluster=(1, 3),
        correlations=(0.5,),
        draws=125,
    ),
}
