/*
target: duckdb
model: sales
partitions: daily(start='2024-01-01')
partition_expr: sold_on
run: 2024-03-01:2024-03-03
inputs:
  orders: {partitions: "daily(start='2024-01-01')", partition_expr: sold_on, columns: {id: INTEGER, sold_on: DATE, amount: DOUBLE}}
show: [create, nulls, write]
*/
select id, sold_on, amount
from {{ ref('orders') }}
-- ---------------------------------------------------------------- runs as
create table mart.sales (id INTEGER, sold_on DATE, amount DOUBLE);
comment on table mart.sales is 'partwise:7f3a';
select count(*) from mart.orders where sold_on is null;
delete from mart.sales where sold_on >= DATE '2024-03-01' and sold_on < DATE '2024-03-04';
insert into mart.sales (id, sold_on, amount) select id, sold_on, amount from (select id, sold_on, amount
from (select * from mart.orders where sold_on >= DATE '2024-03-01' and sold_on < DATE '2024-03-04') as orders
) as sales where sold_on >= DATE '2024-03-01' and sold_on < DATE '2024-03-04';
-- no row can leave its partition
