{{ config(
    partitions = multi(
        month = monthly(start='2013-01-01', end='2014-01-01', timezone='America/New_York'),
        carrier = static(['9E', 'AA', 'AS', 'B6', 'DL', 'EV', 'F9', 'FL', 'HA', 'MQ', 'OO', 'UA', 'US', 'VX', 'WN', 'YV']),
    ),
    partition_expr = {'month': 'month', 'carrier': 'carrier'},
) }}
select
    cast(date_trunc('month', flight_date) as date) as month,
    carrier,
    count(*) as flights,
    count(dep_delay) as departed,
    avg(arr_delay) as avg_arrival_delay,
    sum(distance) as miles
from {{ ref('departures', filter={'carrier': 'carrier'}) }}
group by 1, 2
