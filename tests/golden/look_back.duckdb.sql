/*
target: duckdb
model: week_sum
partitions: daily(start='2024-01-01')
partition_expr: d
run: 2024-02-01:2024-02-02
inputs:
  raw.events: {partition_expr: d, columns: {d: DATE, v: INTEGER}}
*/
select d, week
from (
  select d, sum(v) over (order by d range between interval 6 day preceding and current row) as week
  from {{ source('raw', 'events', lookback=6) }}
) s
where {{ partition_filter('d') }}
-- ---------------------------------------------------------------- runs as
delete from mart.week_sum where d >= DATE '2024-02-01' and d < DATE '2024-02-03';
insert into mart.week_sum (d, week) select d, week from (select d, week
from (
  select d, sum(v) over (order by d range between interval 6 day preceding and current row) as week
  from (select * from raw.events where d >= DATE '2024-01-26' and d < DATE '2024-02-03') as events
) s
where (d >= DATE '2024-02-01' and d < DATE '2024-02-03')
) as week_sum where d >= DATE '2024-02-01' and d < DATE '2024-02-03';
-- rows may leave their partition
