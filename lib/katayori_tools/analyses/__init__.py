"""Logs that somebody else made, analysed as they are: nothing is asked anew.

`reading` makes one frame of the logs, `kinds` says what a kind of log needs and finds it out by the
columns, `paired` compares models or prompts, `rows` makes the flat rows of results.csv, `page` the
report. What a kind measures stands in the room of its paper (`katayori_tools/papers/<id>/analyse`).
"""
