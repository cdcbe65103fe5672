/*
target: duckdb
model: balance
partitions: daily(start='2024-01-01')
partition_expr: d
run: 2024-02-01
inputs:
  raw.moves: {partition_expr: d, columns: {d: DATE, v: INTEGER}}
*/
select m.d, m.v + coalesce((select t.total from {{ this }} t where t.d = m.d - 1), 0) as total,
  (select count(*) from {{ this_partition(offset=-1) }}) as rows_before
from {{ source('raw', 'moves') }} m
-- ---------------------------------------------------------------- runs as
delete from mart.balance where d >= DATE '2024-02-01' and d < DATE '2024-02-02';
insert into mart.balance (d, total, rows_before) select d, total, rows_before from (select m.d, m.v + coalesce((select t.total from (select * from mart.balance where d < DATE '2024-02-01') t where t.d = m.d - 1), 0) as total,
  (select count(*) from (select * from mart.balance where d >= DATE '2024-01-31' and d < DATE '2024-02-01') as balance) as rows_before
from (select * from raw.moves where d >= DATE '2024-02-01' and d < DATE '2024-02-02') m
) as balance where d >= DATE '2024-02-01' and d < DATE '2024-02-02';
-- no row can leave its partition
