"""The pages of `cortext web`: all conversations of this machine, in its user's browser.

The pages load nothing from other machines. HTML and scripts in a conversation are shown as text.
"""
