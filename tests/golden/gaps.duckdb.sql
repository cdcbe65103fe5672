/*
target: duckdb
model: gaps
partitions: daily(start='2024-01-01', exclude=['0 0 * * 6,0'])
partition_expr: d
run: "2024-01-04:2024-01-09, 2024-01-15"
inputs:
  raw.prices: {partition_expr: stamp, columns: {d: DATE, stamp: TIMESTAMP, price: "DECIMAL(9,2)"}}
*/
select d, price
from {{ source('raw', 'prices') }} p
where p.price > 0
-- ---------------------------------------------------------------- runs as
delete from mart.gaps where d in (DATE '2024-01-04', DATE '2024-01-05', DATE '2024-01-08', DATE '2024-01-09', DATE '2024-01-15');
insert into mart.gaps (d, price) select d, price from (select d, price
from (select * from raw.prices where (stamp >= TIMESTAMP '2024-01-04 00:00:00' and stamp < TIMESTAMP '2024-01-06 00:00:00') or (stamp >= TIMESTAMP '2024-01-08 00:00:00' and stamp < TIMESTAMP '2024-01-10 00:00:00') or (stamp >= TIMESTAMP '2024-01-15 00:00:00' and stamp < TIMESTAMP '2024-01-16 00:00:00')) p
where p.price > 0
) as gaps where d in (DATE '2024-01-04', DATE '2024-01-05', DATE '2024-01-08', DATE '2024-01-09', DATE '2024-01-15');
-- rows may leave their partition
