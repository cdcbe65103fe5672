"""From a template and a set of partitions to the SQL that runs."""
