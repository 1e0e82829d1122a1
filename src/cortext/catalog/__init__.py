"""The catalog: a database with one row for each conversation, derived from the files."""

CATALOG_VERSION = 20
"""The version of the catalog's tables. Increase it when a column or the meaning of a value changes.

The version is here, because the modules that create the tables take half a bare start to load.
"""
