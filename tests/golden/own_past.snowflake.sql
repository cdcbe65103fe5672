/*
target: snowflake
model: seen
partitions: static(['a', 'b', 'c'])
partition_expr: k
run: b
inputs:
  raw.files: {partition_expr: k, columns: {k: VARCHAR}}
output: {K: VARCHAR, ID: "NUMBER(38,0)"}
*/
select k, id
from {{ source('raw', 'files') }}
where id not in (select id from {{ this }})
-- ---------------------------------------------------------------- runs as
delete from mart.seen where k = 'b';
insert into mart.seen (K, ID) select K, ID from (select k, id
from (select * from raw.files where k = 'b') as files
where id not in (select id from (select * from mart.seen where k not in ('b')) as seen)
) as seen where k = 'b';
-- no row can leave its partition
