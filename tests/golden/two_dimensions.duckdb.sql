/*
target: duckdb
model: by_region
partitions: multi(date=daily(start='2026-07-01'), region=static(['eu', 'us', "Val d'Oise"]))
partition_expr: {date: d, region: region}
run: "2026-07-01|eu, 2026-07-02|us, 2026-07-02|Val d'Oise"
inputs:
  raw.events: {partition_expr: d, columns: {d: DATE, area: VARCHAR, v: INTEGER}}
*/
select d, area as region, sum(v) as v
from {{ source('raw', 'events', filter={'region': 'area'}) }}
group by d, area;
-- ---------------------------------------------------------------- runs as
delete from mart.by_region where (d >= DATE '2026-07-01' and d < DATE '2026-07-02' and region = 'eu') or (d >= DATE '2026-07-02' and d < DATE '2026-07-03' and region in ('us', 'Val d''Oise'));
insert into mart.by_region (d, region, v) select d, region, v from (select d, area as region, sum(v) as v
from (select * from raw.events where (d >= DATE '2026-07-01' and d < DATE '2026-07-02' and area = 'eu') or (d >= DATE '2026-07-02' and d < DATE '2026-07-03' and area in ('us', 'Val d''Oise'))) as events
group by d, area
) as by_region where (d >= DATE '2026-07-01' and d < DATE '2026-07-02' and region = 'eu') or (d >= DATE '2026-07-02' and d < DATE '2026-07-03' and region in ('us', 'Val d''Oise'));
-- no row can leave its partition
