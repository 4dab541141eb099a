"""Imports kafka-python once, quietly: its import warns about itself, and warnings are errors."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.net.sasl.scram  # noqa: F401
