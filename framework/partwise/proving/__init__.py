"""Showing that one query over many partitions gives the rows of one query per partition."""
