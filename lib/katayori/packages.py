"""The packages of the design card, in its order. Read before anything is installed: no imports."""

CARD = (
    "jupyterlab",
    "papermill",
    "pandas",
    "seaborn",
    "scipy",
    "statsmodels",
    "pingouin",
    "krippendorff",
    "openai",
    "ipywidgets",
    "nbval",
)
