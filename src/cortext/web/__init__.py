"""The web pages of cortext: the conversations of this machine, and of a service or a store.

`cortext web` shows the pages to the user of this machine. The HTTP service can serve them to its
clients. The pages load nothing from other machines. HTML and scripts in a conversation are shown
as text.
"""
