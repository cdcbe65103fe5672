-- LIMIT, the model's own past, and things that are not followed.
-- reader: daily

-- refuted: ten rows of each query
select day, amount from {{ ref('orders') }} limit 3

-- refuted: the largest
select day, amount from {{ ref('orders') }} order by amount desc, order_id limit 3

-- refuted: all but some rows
select day, amount from {{ ref('orders') }} order by amount offset 2

-- refuted: in a CTE
with top as (select * from {{ ref('orders') }} order by amount desc limit 3) select day, amount from top

-- unknown: rows of a table without partitions, any three
select o.day, c.name from {{ ref('orders') }} as o join (select * from {{ ref('customers') }} limit 3) as c using (customer_id)

-- unknown: the latest order of each customer, by LATERAL
select c.since as day, x.order_id from {{ ref('customers') }} as c,
  lateral (select order_id from {{ ref('orders') }} as o where o.customer_id = c.customer_id order by o.day desc limit 1) as x

-- unknown: columns by pattern
select day, columns('a.*') from {{ ref('orders') }}

-- unknown: a pivot
select * from (pivot {{ ref('orders') }} on status using sum(amount) group by day) as p

-- proven: recursion over a table without partitions
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3)
select o.day, n.i from {{ ref('orders') }} as o cross join n

-- unknown: recursion over partitions
with recursive t(day, i) as (
  select day, 1 from {{ ref('orders') }} union all select day, i + 1 from t where i < 2)
select day, i from t

-- unknown: a function nobody knows
select day, my_function(amount) as x from {{ ref('orders') }}

-- proven: a CTE that is not used does not matter
with unused as (select max(day) as d from {{ ref('orders') }}) select day, amount from {{ ref('orders') }}

-- proven: a CTE that hides a model's name
with customers as (select day, customer_id from {{ ref('orders') }}) select day, customer_id from customers

-- proven: comments change nothing
select day, /* limit 3 */ amount -- group by day
from {{ ref('orders') }}
