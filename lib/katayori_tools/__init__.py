"""What stands behind `make`: the command line, notebook runner, recording, local engines, set-up
and doctor.

The library, `katayori`, never imports it, nor does a notebook.
"""
