"""What `pyproject.toml` cannot say: registries and prompts of `../data` travel inside the wheel."""

import shutil
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).resolve().parent
if not (HERE.parent / "data" / "models.yaml").is_file():
    raise SystemExit("katayori is built from its checkout: there is no data folder beside lib")
shutil.rmtree(HERE / "build", ignore_errors=True)  # else what was deleted would be shipped again
setup(
    packages=[*find_packages(include=["katayori*"]), "katayori.shipped"],
    package_dir={"katayori.shipped": "../data"},
)
