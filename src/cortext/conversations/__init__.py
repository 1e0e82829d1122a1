"""The old import paths of conversation stores, which the documentation of 0.1.0 shows.

The code is now in `cortext.service.stores`.
"""
