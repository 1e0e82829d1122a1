"""Stores for agent frameworks: each module is named like its framework, and so is its extra."""
