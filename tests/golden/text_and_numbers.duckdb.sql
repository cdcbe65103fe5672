/*
target: duckdb
model: loads
partitions: daily(start='2024-01-01')
partition_expr: loaded
partition_format: '%Y%m%d'
run: 2024-01-31:2024-02-01
inputs:
  raw.by_text: {partition_expr: day_text, partition_format: '%d.%m.%Y', columns: {day_text: VARCHAR, loaded: INTEGER}}
  raw.by_epoch: {partition_expr: ms, partition_format: epoch_ms, columns: {ms: BIGINT, loaded: INTEGER}}
*/
select loaded from {{ source('raw', 'by_text') }}
union all
select loaded from {{ source('raw', 'by_epoch') }}
-- ---------------------------------------------------------------- runs as
delete from mart.loads where loaded >= 20240131 and loaded < 20240202;
insert into mart.loads (loaded) select loaded from (select loaded from (select * from raw.by_text where day_text in ('31.01.2024', '01.02.2024')) as by_text
union all
select loaded from (select * from raw.by_epoch where ms >= 1706659200000 and ms < 1706832000000) as by_epoch
) as loads where loaded >= 20240131 and loaded < 20240202;
-- rows may leave their partition
