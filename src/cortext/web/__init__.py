"""The web pages of cortext, which show conversations in a browser.

`cortext web` shows the pages to the user of this machine. The HTTP service can show the
conversations in its store to its clients. The pages load nothing from other machines. HTML and
scripts in a conversation are shown as text.
"""
