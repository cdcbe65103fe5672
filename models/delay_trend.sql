{{ config(
    partitions = daily(start='2013-01-01', end='2014-01-01', timezone='America/New_York'),
    partition_expr = 'flight_date',
) }}
-- The mean delay of the day and the six days before it: the look-back is read, and only the day itself is written.
with trend as (
    select
        flight_date,
        carrier,
        avg(avg_delay) over (
            partition by carrier
            order by flight_date
            range between interval 6 days preceding and current row
        ) as avg_delay_7_days
    from {{ ref('daily_delays', lookback=6) }}
)
select flight_date, carrier, avg_delay_7_days
from trend
where {{ partition_filter('flight_date') }}
