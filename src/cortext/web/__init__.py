"""The web pages of cortext, which show conversations in a browser.

`cortext web` shows the pages to the user of this machine. The HTTP service can also have pages,
which show each client its own conversations in the store. The pages load nothing from other
machines. HTML and scripts in a conversation are shown as text.
"""
