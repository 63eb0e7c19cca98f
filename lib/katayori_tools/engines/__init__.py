"""Local model engines: verified weights, servers on loopback that are always stopped.

No notebook imports them.
"""
