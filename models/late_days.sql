{{ config(materialized='view') }}
select flight_date, carrier, flights, avg_delay
from {{ ref('daily_delays') }}
where avg_delay > 30
