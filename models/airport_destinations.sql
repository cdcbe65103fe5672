{{ config(
    partitions = static(['EWR', 'JFK', 'LGA']),
    partition_expr = 'origin',
) }}
select origin, dest, count(*) as flights, min(distance) as distance
from {{ ref('departures', mapping=all(), filter={'key': 'origin'}) }}
group by origin, dest
