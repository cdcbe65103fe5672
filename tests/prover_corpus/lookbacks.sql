-- Inputs read further back than the partitions built.
-- reader: daily

-- proven common: seven days, read and summed
select day, customer_id, sum(amount) over (partition by customer_id order by day
  range between interval 6 day preceding and current row) as week from {{ ref('orders', lookback=6) }}

-- proven: narrower than what is read
select day, customer_id, count(*) over (order by day range between interval 2 days preceding and current row) as n
from {{ ref('orders', lookback=6) }}

-- proven: cut to the partitions by hand
select day, week from (
  select day, avg(amount) over (partition by status order by day range between interval 6 day preceding and current row)
    as week from {{ ref('orders', lookback=6) }}) as t
where {{ partition_filter('day') }}

-- proven common: daily totals first, then seven days of them
with d as (select day, sum(amount) as amount from {{ ref('orders', lookback=6) }} group by day)
select day, avg(amount) over (order by day range between interval 6 day preceding and current row) as mean from d

-- proven: one week is seven days
select day, max(amount) over (partition by customer_id order by day
  range between interval 1 week preceding and current row) as most from {{ ref('orders', lookback=7) }}

-- proven: only the rows of the day matter
select day, amount from {{ ref('orders', lookback=3) }}

-- proven: groups of the day, complete in what is read
select day, count(*) as n from {{ ref('orders', lookback=3) }} group by day

-- unknown: wider than what is read
select day, sum(amount) over (partition by customer_id order by day
  range between interval 7 day preceding and current row) as week from {{ ref('orders', lookback=6) }}

-- unknown: a month may have 31 days
select day, sum(amount) over (order by day range between interval 1 month preceding and current row) as month
from {{ ref('orders', lookback=30) }}

-- unknown: seven rows are not seven days
select day, avg(amount) over (order by day rows between 6 preceding and current row) as mean
from {{ ref('orders', lookback=6) }}

-- unknown: no frame at all reaches back without end
select day, sum(amount) over (partition by customer_id order by day) as so_far from {{ ref('orders', lookback=6) }}

-- unknown: looks ahead too
select day, sum(amount) over (order by day range between interval 1 day preceding and interval 1 day following) as s
from {{ ref('orders', lookback=1) }}

-- unknown: backwards in time
select day, sum(amount) over (order by day desc range between interval 2 day preceding and current row) as s
from {{ ref('orders', lookback=2) }}

-- unknown: lag looks as far back as it has to
select day, lag(amount) over (partition by customer_id order by day) as before from {{ ref('orders', lookback=6) }}

-- unknown: ordered by another column
select day, sum(amount) over (order by shipped range between interval 2 day preceding and current row) as s
from {{ ref('orders', lookback=2) }}

-- unknown: yesterday's rows only, put into the day after; true, but not followed
select day + 1 as day, amount from {{ ref('orders', mapping=window(-1, -1)) }}

-- refuted: the customers of seven days, counted as one
select max(day) as day, count(distinct customer_id) as n from {{ ref('orders', lookback=6) }}

-- gap: a join over three days
select a.day, a.order_id, b.order_id as earlier from {{ ref('orders') }} as a
join {{ ref('orders', lookback=2) }} as b on b.customer_id = a.customer_id and b.day between a.day - 2 and a.day

-- unknown: a condition of the row is applied to the window's other rows too late
select day, sum(amount) over (order by day range between interval 2 day preceding and current row) as s
from {{ ref('orders') }}
