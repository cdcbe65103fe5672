/*
target: duckdb
model: big
partitions: daily(start='2024-01-01')
partition_expr: d
run: 2024-01-05
inputs:
  raw.orders: {partition_expr: ts, columns: {id: INTEGER, ts: TIMESTAMP, amount: INTEGER}}
  cleaned: {sql: "select id, ts::date as d, amount -- as sold\nfrom {{ source('raw', 'orders') }}\nwhere amount is not null"}
*/
with large as (
  select id, d from {{ ref('cleaned') }} where amount > 100
)
select large.id, large.d, c.amount
from large join {{ ref('cleaned') }} as c using (id)
-- ---------------------------------------------------------------- runs as
delete from mart.big where d >= DATE '2024-01-05' and d < DATE '2024-01-06';
insert into mart.big (id, d, amount) select id, d, amount from (with __pw__cleaned as (select id, ts::date as d, amount -- as sold
from (select * from raw.orders where ts >= TIMESTAMP '2024-01-05 00:00:00' and ts < TIMESTAMP '2024-01-06 00:00:00') as orders
where amount is not null
), large as (
  select id, d from __pw__cleaned as cleaned where amount > 100
)
select large.id, large.d, c.amount
from large join __pw__cleaned as c using (id)
) as big where d >= DATE '2024-01-05' and d < DATE '2024-01-06';
-- rows may leave their partition
