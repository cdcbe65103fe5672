-- Window functions and QUALIFY.
-- reader: daily

-- proven common: a share of the day's total
select day, order_id, amount / sum(amount) over (partition by day) as share from {{ ref('orders') }}

-- proven common: ranks within the day
select day, order_id, rank() over (partition by day order by amount desc) as place from {{ ref('orders') }}

-- proven common: dense ranks within day and status
select day, order_id, dense_rank() over (partition by day, status order by amount) as place from {{ ref('orders') }}

-- proven common: counted within the day
select day, order_id, count(*) over (partition by day, customer_id) as orders_that_day from {{ ref('orders') }}

-- proven: a running total with peers
select day, order_id, sum(amount) over (partition by day order by amount) as so_far from {{ ref('orders') }}

-- proven: the best of each day, ties and all
select day, order_id from {{ ref('orders') }} qualify rank() over (partition by day order by amount desc) = 1

-- proven: a named window
select day, order_id, max(amount) over w as most from {{ ref('orders') }} window w as (partition by day)

-- proven: a window over groups
select day, status, sum(sum(amount)) over (partition by day) as total from {{ ref('orders') }} group by day, status

-- proven: numbered groups are told apart by their keys
select day, status, row_number() over (partition by day order by status) as place
from {{ ref('orders') }} group by day, status

-- proven common: top of the day by group
with g as (select day, customer_id, sum(amount) as amount from {{ ref('orders') }} group by 1, 2)
select day, customer_id, amount from g
qualify row_number() over (partition by day order by amount desc, customer_id) <= 3

-- proven: a window that is not used
select day, amount from (
  select day, amount, row_number() over (partition by customer_id order by day) as n from {{ ref('orders') }}) as t

-- proven: RANGE without bounds, within the day
select day, order_id, sum(amount) over (partition by day order by amount
  range between unbounded preceding and unbounded following) as total from {{ ref('orders') }}

-- proven: lag over groups in a total order
select day, status, lag(n) over (partition by day order by status) as before from (
  select day, status, count(*) as n from {{ ref('orders') }} group by 1, 2) as g

-- refuted: numbers a customer's orders over all days
select day, order_id, row_number() over (partition by customer_id order by day, order_id) as n from {{ ref('orders') }}

-- refuted: numbers everything
select day, order_id, row_number() over (order by order_id) as n from {{ ref('orders') }}

-- refuted: a total over everything
select day, order_id, sum(amount) over () as total from {{ ref('orders') }}

-- refuted: a running total over days
select day, order_id, sum(amount) over (partition by customer_id order by day) as so_far from {{ ref('orders') }}

-- refuted: the order before
select day, order_id, lag(amount) over (partition by customer_id order by day) as before from {{ ref('orders') }}

-- refuted: the last version of each order
select day, order_id, amount from {{ ref('orders') }}
qualify row_number() over (partition by order_id order by updated_at desc) = 1

-- refuted: the same in a subquery
select day, order_id, amount from (
  select *, row_number() over (partition by order_id order by updated_at desc) as n from {{ ref('orders') }}) as t
where n = 1

-- refuted: how many orders a customer has
select day, order_id, count(*) over (partition by customer_id) as orders from {{ ref('orders') }}

-- refuted: a named window without the day
select day, order_id, rank() over w as place from {{ ref('orders') }} window w as (partition by status order by amount)

-- unknown: the last version of each order within the day, where two may be equally late
select day, order_id, amount from {{ ref('orders') }}
qualify row_number() over (partition by day, order_id order by updated_at desc) = 1

-- unknown: the first value among peers
select day, first_value(order_id) over (partition by day order by amount) as first from {{ ref('orders') }}

-- unknown: rows before in an order with ties
select day, sum(amount) over (partition by day order by amount rows between 1 preceding and current row) as s
from {{ ref('orders') }}

-- unknown: tiles cut peers apart
select day, ntile(4) over (partition by day order by amount) as quartile from {{ ref('orders') }}

-- unknown: lag among peers
select day, lag(amount) over (partition by day order by updated_at) as before from {{ ref('orders') }}

-- unknown: a month is more than a day
select day, sum(amount) over (partition by date_trunc('month', day)) as month_total from {{ ref('orders') }}

-- unknown: groups over days, then a running total
select day, status, sum(n) over (partition by status order by day) as so_far from (
  select day, status, count(*) as n from {{ ref('orders') }} group by 1, 2) as g where n > 1
