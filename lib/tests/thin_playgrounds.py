"""Playgrounds with one state each, for tests of pages that are about something else."""

import dataclasses

from katayori_tools import site_playgrounds


def thin(patch):
    """Lets every slider of the pages have the value in which it starts, and no other."""
    whole = site_playgrounds.playgrounds()
    few = {name: _few(one) for name, one in whole.items()}
    patch.setattr(site_playgrounds, "playgrounds", lambda: few)


def _few(playground):
    choices = dict(list(playground.choices.items())[:1])
    for name, sliders in choices.items():
        controls = [dataclasses.replace(one, values=(one.start,)) for one in sliders.controls]
        choices[name] = dataclasses.replace(sliders, controls=tuple(controls))
    return dataclasses.replace(playground, choices=choices)
