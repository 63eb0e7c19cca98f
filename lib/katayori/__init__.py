"""Katayori: social bias of large language models, measured after five Japanese papers."""

__version__ = "0.5.0"
