"""The one error users are meant to see: a single line that names the cause and the remedy."""


class KatayoriError(Exception):
    """Raised for bad input or a missing prerequisite; its message stands alone, without a traceback."""


class UnavailableError(KatayoriError):
    """Something a profile needs is not on this machine (a data set, recorded answers): a notebook ends as skipped."""
