{{ config(
    partitions = weekly(start='2012-12-31', end='2014-01-06', timezone='America/New_York'),
    partition_expr = 'week',
) }}
select
    cast(date_trunc('week', flight_date) as date) as week,
    carrier,
    sum(flights) as flights,
    sum(flights * avg_delay) / sum(flights) as avg_delay
from {{ ref('daily_delays') }}
group by 1, 2
