/*
target: duckdb
dialect: snowflake
model: scores
partitions: daily(start='2024-01-01')
partition_expr: to_date(day_text, 'YYYYMMDD')
run: 2024-01-05:2024-01-06
inputs:
  raw.events: {partition_expr: ts, dialect: snowflake, columns: {id: INTEGER, day_text: VARCHAR, ts: TIMESTAMP, score: DOUBLE}}
*/
select day_text, iff(score > 0, 'plus', 'minus') as sign, div0(sum(score), count(*)) as mean
from {{ source('raw', 'events') }} e
where {{ partition_filter("to_date(day_text, 'YYYYMMDD')") }}
group by day_text, sign
qualify row_number() over (partition by day_text order by mean) = 1
-- ---------------------------------------------------------------- runs as
delete from mart.scores where CAST(STRPTIME(day_text, '%Y%m%d') AS DATE) >= DATE '2024-01-05' and CAST(STRPTIME(day_text, '%Y%m%d') AS DATE) < DATE '2024-01-07';
insert into mart.scores (day_text, sign, mean) select day_text, sign, mean from (SELECT
  day_text,
  CASE WHEN score > 0 THEN 'plus' ELSE 'minus' END AS sign,
  CASE
    WHEN COUNT(*) = 0 AND NOT SUM(score) IS NULL
    THEN 0
    ELSE SUM(score) / COUNT(*)
  END AS mean
FROM (
  SELECT
    *
  FROM raw.events
  WHERE
    ts >= TIMESTAMP '2024-01-05 00:00:00' and ts < TIMESTAMP '2024-01-07 00:00:00'
) AS e
WHERE
  (CAST(STRPTIME(day_text, '%Y%m%d') AS DATE) >= DATE '2024-01-05' and CAST(STRPTIME(day_text, '%Y%m%d') AS DATE) < DATE '2024-01-07')
GROUP BY
  day_text,
  sign
QUALIFY
  ROW_NUMBER() OVER (PARTITION BY day_text ORDER BY mean) = 1
) as scores where CAST(STRPTIME(day_text, '%Y%m%d') AS DATE) >= DATE '2024-01-05' and CAST(STRPTIME(day_text, '%Y%m%d') AS DATE) < DATE '2024-01-07';
-- rows may leave their partition
