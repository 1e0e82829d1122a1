"""Old import paths, kept because the documentation of 0.1.0 shows them.

The code is in `cortext.features`.
"""
