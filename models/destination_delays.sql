{{ config(
    partitions = dynamic('destinations'),
    partition_expr = 'dest',
) }}
select dest, carrier, count(*) as flights, avg(arr_delay) as avg_arrival_delay
from {{ ref('departures', mapping=all(), filter={'destinations': 'dest'}) }}
group by dest, carrier
