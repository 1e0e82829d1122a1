"""The old import paths of `copy_sessions`, which the documentation of 0.1.0 shows.

The code is now in `cortext.features`.
"""
