"""The conversation service: stores for the conversations of chat programs, and an HTTP interface.

The service is described in spec 004.
"""
