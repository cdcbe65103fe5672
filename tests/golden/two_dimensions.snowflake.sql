/*
target: snowflake
model: by_region
partitions: multi(date=daily(start='2026-07-01'), region=static(['eu', 'us', 'C:\\dir']))
partition_expr: {date: d, region: region}
run: "2026-07-01|eu, 2026-07-02|us, 2026-07-02|C:\\\\dir"
inputs:
  raw.events: {partition_expr: d, columns: {d: DATE, area: VARCHAR}}
output: {D: DATE, REGION: VARCHAR, V: "NUMBER(38,0)"}
*/
select d, area as region, sum(v) as v
from {{ source('raw', 'events', filter={'region': 'area'}) }}
group by d, area;
-- ---------------------------------------------------------------- runs as
delete from mart.by_region where (d >= DATE '2026-07-01' and d < DATE '2026-07-02' and region = 'eu') or (d >= DATE '2026-07-02' and d < DATE '2026-07-03' and region in ('us', 'C:\\dir'));
insert into mart.by_region (D, REGION, V) select D, REGION, V from (select d, area as region, sum(v) as v
from (select * from raw.events where (d >= DATE '2026-07-01' and d < DATE '2026-07-02' and area = 'eu') or (d >= DATE '2026-07-02' and d < DATE '2026-07-03' and area in ('us', 'C:\\dir'))) as events
group by d, area
) as by_region where (d >= DATE '2026-07-01' and d < DATE '2026-07-02' and region = 'eu') or (d >= DATE '2026-07-02' and d < DATE '2026-07-03' and region in ('us', 'C:\\dir'));
-- no row can leave its partition
