"""The bounded conversation service of spec 004: its stores, and its HTTP interface."""
