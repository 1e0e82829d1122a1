"""The conversation service of spec 004: conversation stores, and an HTTP interface to them."""
