/*
target: duckdb
model: hours
partitions: hourly(start='2024-11-01', timezone='America/New_York')
partition_expr: ts
column_timezone: America/New_York
run: 2024-11-03-01:00-0500
inputs:
  raw.clock: {partition_expr: ts, column_timezone: America/New_York, columns: {ts: TIMESTAMP}}
*/
select ts
from {{ source('raw', 'clock') }}
-- ---------------------------------------------------------------- runs as
-- warning: `ts` holds wall-clock time of America/New_York, where an hour occurs twice when the clock is put back: the first partition of that hour stays empty, the second holds both
delete from mart.hours where ts >= TIMESTAMP '2024-11-03 01:00:00' and ts < TIMESTAMP '2024-11-03 02:00:00';
insert into mart.hours (ts) select ts from (select ts
from (select * from raw.clock where ts >= TIMESTAMP '2024-11-03 01:00:00' and ts < TIMESTAMP '2024-11-03 02:00:00') as clock
) as hours where ts >= TIMESTAMP '2024-11-03 01:00:00' and ts < TIMESTAMP '2024-11-03 02:00:00';
-- no row can leave its partition
