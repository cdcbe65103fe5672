{{ config(
    partitions = daily(start='2013-01-01', end='2014-01-01', timezone='America/New_York'),
    partition_expr = 'flight_date',
) }}
select flight_date, carrier, count(*) as flights, avg(dep_delay) as avg_delay
from {{ ref('departures') }}          -- hourly upstream: the 23, 24 or 25 hours of the day
group by flight_date, carrier
