{{ config(
    partitions = multi(
        hour = hourly(start='2013-01-01', end='2014-01-01', timezone='America/New_York'),
        origin = static(['EWR', 'JFK', 'LGA']),
    ),
    partition_expr = {'hour': 'time_hour', 'origin': 'origin'},
    policy = single_run(),
    trust = true,
) }}
-- Both keys come unchanged from departures and weather is joined on both: no row can leave its partition.
select d.time_hour, d.origin, d.carrier, d.flight, d.dep_delay, w.temp, w.wind_speed, w.precip, w.visib
from {{ ref('departures', filter={'origin': 'origin'}) }} as d
left join {{ ref('weather') }} as w
    on w.time_hour = d.time_hour
    and w.origin = d.origin
