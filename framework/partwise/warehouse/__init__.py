"""Carrying out a plan, and keeping the status beside the data."""
