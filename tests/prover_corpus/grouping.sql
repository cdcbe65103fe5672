-- GROUP BY, DISTINCT and aggregates.
-- reader: daily

-- proven common: totals per day
select day, count(*) as n, sum(amount) as amount from {{ ref('orders') }} group by day

-- proven common: per day and something else
select day, status, count(*) as n, avg(amount) as mean from {{ ref('orders') }} group by day, status

-- proven common: by position
select day, status, count(distinct customer_id) as customers from {{ ref('orders') }} group by 1, 2

-- proven common: GROUP BY ALL
select day, status, max(amount) as most from {{ ref('orders') }} group by all

-- proven common: HAVING
select day, customer_id, sum(amount) as amount from {{ ref('orders') }} group by 1, 2 having count(*) > 1

-- proven common: conditions inside aggregates
select day, count(*) filter (where status = 'paid') as paid, sum(case when status = 'open' then 1 else 0 end) as open
from {{ ref('orders') }} group by day

-- proven common: distinct rows with the day
select distinct day, customer_id from {{ ref('orders') }}

-- proven common: two levels of groups
with per_customer as (select day, customer_id, sum(amount) as amount from {{ ref('orders') }} group by 1, 2)
select day, count(*) as customers, avg(amount) as mean from per_customer group by day

-- proven: median and quantiles do not depend on order
select day, median(amount) as med, quantile_cont(amount, 0.9) as p90 from {{ ref('orders') }} group by day

-- proven: standard deviation
select day, stddev(amount) as sd, var_pop(amount) as var from {{ ref('orders') }} group by day

-- proven: bool_or
select day, bool_or(amount > 10) as any_big from {{ ref('orders') }} group by day

-- proven: a finer key still tells the day
select day, status, count(*) as n from {{ ref('orders') }} group by day, status, order_id

-- proven: day is in every grouping set
select day, status, count(*) as n from {{ ref('orders') }} group by grouping sets ((day, status), (day))

-- proven: ROLLUP over other columns only
select day, status, customer_id, count(*) as n from {{ ref('orders') }} group by day, rollup (status, customer_id)

-- proven: CUBE over other columns only
select day, status, count(*) as n from {{ ref('orders') }} group by day, cube (status)

-- proven: a list in the order of its own values
select day, string_agg(status, ',' order by status) as statuses from {{ ref('orders') }} group by day

-- proven: the same as an array
select day, list(amount order by amount) as amounts from {{ ref('orders') }} group by day

-- proven: distinct of an aggregate
select distinct day, n from (select day, status, count(*) as n from {{ ref('orders') }} group by 1, 2) as g

-- proven: an alias of the key in GROUP BY
select day as day, sum(amount) as s from {{ ref('orders') }} as o group by o.day

-- proven: GROUP BY an expression that is the day
select cast(day as date) as day, sum(amount) as s from {{ ref('orders') }} group by cast(day as date)

-- refuted: one row for all partitions of a query
select max(day) as day, sum(amount) as amount from {{ ref('orders') }}

-- refuted: customers span days
select min(day) as day, customer_id, sum(amount) as amount from {{ ref('orders') }} group by customer_id

-- refuted: the first day of each customer
select min(day) as day, customer_id from {{ ref('orders') }} group by 2

-- refuted: months span days
select cast(date_trunc('month', day) as date) as day, sum(amount) as s from {{ ref('orders') }} group by 1

-- refuted: in a CTE too
with t as (select max(day) as day, customer_id, count(*) as n from {{ ref('orders') }} group by customer_id)
select * from t

-- refuted: the first order of each customer
select distinct on (customer_id) day, customer_id from {{ ref('orders') }} order by day, order_id

-- unknown: the total row of ROLLUP spans days
select day, status, count(*) as n from {{ ref('orders') }} group by rollup (day, status)

-- unknown: CUBE has groups without the day
select day, status, count(*) as n from {{ ref('orders') }} group by cube (day, status)

-- unknown: a grouping set without the day
select day, status, count(*) as n from {{ ref('orders') }} group by grouping sets ((day), (status))

-- unknown: any value of several
select day, any_value(status) as status from {{ ref('orders') }} group by day

-- unknown: the first in no order
select day, first(status) as status from {{ ref('orders') }} group by day

-- unknown: a list in no order
select day, string_agg(status, ',') as statuses from {{ ref('orders') }} group by day

-- unknown: an array in no order
select day, array_agg(amount) as amounts from {{ ref('orders') }} group by day

-- unknown: ties among the largest
select day, arg_max(status, amount) as status from {{ ref('orders') }} group by day

-- unknown: ties among the most frequent
select day, mode(status) as status from {{ ref('orders') }} group by day

-- unknown: ordered by something that leaves ties
select day, string_agg(status, ',' order by amount) as statuses from {{ ref('orders') }} group by day

-- unknown: DISTINCT ON the day and customer, whichever comes first
select distinct on (day, customer_id) day, customer_id, amount from {{ ref('orders') }} order by amount

-- proven: DISTINCT ON where groups have one row each anyway
select distinct on (day, status) day, status, n from (
  select day, status, count(*) as n from {{ ref('orders') }} group by 1, 2) as g order by day, status

-- unknown: HAVING looks at a total over everything
select day, sum(amount) as s from {{ ref('orders') }} group by day
having sum(amount) > (select avg(amount) from {{ ref('payments') }})

-- unknown: the sample of an approximate count is not known
select day, approx_count_distinct(customer_id) as n from {{ ref('orders') }} group by day
