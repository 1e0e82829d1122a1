"""The pages of `cortext web`: every conversation of this machine, for its person, in a browser.

Nothing here asks another machine, and nothing that was ever said becomes markup or a script.
"""
