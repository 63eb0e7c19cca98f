"""The same numbers on every processor: one with old instructions gives what this one gives.

OpenBLAS takes the kernels of the processor named in OPENBLAS_CORETYPE, and numpy leaves out the
instructions named in NPY_DISABLE_CPU_FEATURES; both are read when a process starts.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from katayori import paths
from katayori_tools import compare, notebooks

DELICATE = Path(__file__).parent / "delicate_functions.py"
OLD = {
    "OPENBLAS_CORETYPE": "Nehalem",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
}
#: Besides the machine's own, which `make reproduce` runs with.
KERNELS = {
    "old": OLD,
    "Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
}
x86 = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the kernels are those of x86"
)


def environment(kernels):
    """The environment of a process with these kernels, whatever this one has."""
    return {name: value for name, value in os.environ.items() if name not in OLD} | kernels


def delicate(kernels):
    """What the delicate functions give in a process of its own."""
    run = [sys.executable, DELICATE]
    done = subprocess.run(run, env=environment(kernels), stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


@x86
def test_an_old_processor_gives_the_same_numbers():
    here, there = delicate({}), delicate(OLD)
    assert here.keys() == there.keys()
    found = [
        f"{name}, {column}, row {row}: {one} or {other}"
        for name, table in here.items()
        for column, cells in table.items()
        for row, (one, other) in enumerate(zip(cells, there[name][column], strict=True))
        if not compare.same(one, other)
    ]
    assert not found, "\n".join(found[:20])


@x86
@pytest.mark.slow_all
@pytest.mark.parametrize("kernels", KERNELS)
def test_every_notebook_gives_the_expected_tables_under_other_kernels(kernels, tmp_path):
    """All six notebooks are run again, from the first answer to the last table."""
    env = environment(KERNELS[kernels] | {"KATAYORI_OUTPUTS": str(tmp_path)})
    run = [sys.executable, "-m", "katayori", "reproduce"]
    subprocess.run(run, env=env, cwd=paths.root(), stdout=subprocess.DEVNULL, check=True)
    found = [
        f"{paper}/{table}: {line}"
        for paper in notebooks.registry()
        for table, lines in compare.differences(
            compare.read_expected(paper), compare.read_run(tmp_path / compare.PROFILE / paper)
        ).items()
        for line in lines
    ]
    assert not found, "\n".join([*found[:30], f"{len(found)} differences under {kernels}"])
