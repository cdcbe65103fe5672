"""What each config key means, for the reference and for `--help`."""

from __future__ import annotations

ABOUT: dict[str, str] = {
    "partitions": "The partition definition: a constructor call, the same as a mapping or text, or a name for one.",
    "partition_expr": "The SQL expression that places a row in its partition; by dimension where there are several.",
    "materialized": "`partitioned` (default with partitions), `view` (default without), `table`, `ephemeral`.",
    "policy": "`auto`, `single_run(max_partitions_per_run)` or `multi_run(max_partitions_per_run)`.",
    "full_scan": "Allow a partitioned model that filters none of its inputs.",
    "trust": "Take the author's word that one query over many partitions gives what one each would.",
    "on_null": "Rows whose partition column is NULL: `warn` (count them), `error`, `skip`.",
    "on_leak": "Rows outside what is being built: `warn` (counted, not written), `error`, `filter`.",
    "on_schema_change": "Columns unlike the table's: `fail`, `append_new_columns`, `sync_all_columns`.",
    "column_timezone": "The zone whose wall clock a timestamp without zone holds.",
    "partition_format": "How a text or number column writes time: `%Y%m%d` and the like, `epoch`, `epoch_ms`.",
    "rebuild_last": "Partitions built before their window closed plus so many windows become stale once more.",
    "retries": "How often a transaction is repeated after a transient error (default 2).",
    "tags": "Words to select by; they add up over folders and files.",
    "schema": "Appended to the target's schema: `<target>_<schema>`.",
    "alias": "The relation's name, where it is not the model's.",
    "database": "The relation's database, where it is not the connection's.",
    "enabled": "false leaves the node out of the project.",
    "meta": "Anything; it goes into the manifest.",
    "description": "Text about the node.",
    "dialect": "The SQL dialect the text is written in (default: the target's).",
    "pre_hook": "Statements to run before the model, once per invocation.",
    "post_hook": "Statements to run after the model, once per invocation.",
    "column_types": "Seeds: the type of each column, by name.",
    "delimiter": "Seeds: what separates the columns of a CSV file.",
    "full_refresh": "false protects the table from `--full-refresh`.",
    "contract": "`{enforced: true}` holds the output to the columns of the property file.",
    "delay": "How long after its window a partition is due.",
}
