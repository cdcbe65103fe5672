{{ config(
    partitions = monthly(start='2013-01-01', end='2014-01-01', timezone='America/New_York'),
    partition_expr = 'month',
) }}
-- Each month adds to the month before it in this very table, so months are built one by one, in order.
select
    this_month.month,
    this_month.carrier,
    this_month.flights + coalesce(before.flights_to_date, 0) as flights_to_date
from {{ ref('carrier_months') }} as this_month
left join {{ this }} as before
    on before.carrier = this_month.carrier
    and before.month = this_month.month - interval 1 month
