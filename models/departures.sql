{{ config(
    partitions = hourly(start='2013-01-01', end='2014-01-01', timezone='America/New_York'),
    partition_expr = 'time_hour',
    policy = single_run(),
) }}
select
    time_hour,
    make_date(year, month, day) as flight_date,
    carrier,
    flight,
    tailnum,
    origin,
    dest,
    dep_delay,
    arr_delay,
    distance
from {{ ref('flights') }}
