"""What stands behind `make`: the command line, the notebook runner, set-up, doctor and comparison of runs."""
