"""Background work gives way to everything else on the machine.

Linux puts every session into a scheduling group of its own and shares the processor among groups,
so that a nice value counts inside a session only. A process in the background, and the engines that
it starts, therefore also lower their group, where the system has groups.
"""

import os
from contextlib import suppress
from pathlib import Path

LOWEST = 19


def gives_way(pid: int) -> None:
    """Give a process and its group the lowest priority; nothing happens where that is refused.

    Args:
        pid: of a process that has begun a session of its own.
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, LOWEST)
    with suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(LOWEST), encoding="ascii")


def like_this_one(pid: int) -> None:
    """A process that this one has started gives way, too, if this one does."""
    if os.getpriority(os.PRIO_PROCESS, 0) == LOWEST:
        gives_way(pid)
