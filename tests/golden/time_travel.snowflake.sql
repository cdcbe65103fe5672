/*
target: snowflake
model: yesterday
partitions: daily(start='2024-01-01', timezone='Europe/Berlin')
partition_expr: ts
column_timezone: UTC
run: 2024-03-31
inputs:
  orders: {partitions: "daily(start='2024-01-01', timezone='Europe/Berlin')", partition_expr: ts, column_timezone: UTC, columns: {ts: TIMESTAMP_NTZ(9)}}
output: {ID: "NUMBER(38,0)", TS: TIMESTAMP_NTZ(9)}
*/
select {{ ref('orders') }}.id, mart.orders.ts
from {{ ref('orders') }} at(offset => -3600) sample (10)
-- ---------------------------------------------------------------- runs as
delete from mart.yesterday where ts >= '2024-03-30 23:00:00'::TIMESTAMP_NTZ and ts < '2024-03-31 22:00:00'::TIMESTAMP_NTZ;
insert into mart.yesterday (ID, TS) select ID, TS from (select orders.id, orders.ts
from (select * from mart.orders at(offset => -3600) where ts >= '2024-03-30 23:00:00'::TIMESTAMP_NTZ and ts < '2024-03-31 22:00:00'::TIMESTAMP_NTZ) as orders sample (10)
) as yesterday where ts >= '2024-03-30 23:00:00'::TIMESTAMP_NTZ and ts < '2024-03-31 22:00:00'::TIMESTAMP_NTZ;
-- rows may leave their partition
