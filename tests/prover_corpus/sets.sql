-- UNION, EXCEPT and INTERSECT.
-- reader: daily

-- proven common: two facts under each other
select day, amount, 'order' as kind from {{ ref('orders') }}
union all select paid_on, amount, 'payment' from {{ ref('payments') }}

-- proven common: and summed
with all_rows as (
  select day, amount from {{ ref('orders') }} union all select paid_on, -amount from {{ ref('payments') }})
select day, sum(amount) as balance from all_rows group by day

-- proven: UNION drops equal rows of a day
select day, customer_id from {{ ref('orders') }} union select paid_on, customer_id from {{ ref('payments') }}

-- proven: EXCEPT with the day among the columns
select day, customer_id from {{ ref('orders') }} except select paid_on, customer_id from {{ ref('payments') }}

-- proven: INTERSECT too
select day, customer_id from {{ ref('orders') }} intersect select paid_on, customer_id from {{ ref('payments') }}

-- proven: EXCEPT ALL counts rows of a day
select day, customer_id from {{ ref('orders') }} except all select paid_on, customer_id from {{ ref('payments') }}

-- proven: rows of a table without partitions, each in its day
select day, amount from {{ ref('orders') }} union all select day, 0 from {{ ref('calendar') }}

-- proven: the days without orders
select day from {{ ref('calendar') }} except select day from {{ ref('orders') }}

-- proven: three arms
select day, amount from {{ ref('orders') }} union all select paid_on, amount from {{ ref('payments') }}
union all select day, 1 from {{ ref('orders') }}

-- proven: a union inside a join
select u.day, c.name from (
  select day, customer_id from {{ ref('orders') }} union all select paid_on, customer_id from {{ ref('payments') }}) as u
left join {{ ref('customers') }} as c using (customer_id)

-- unknown: the other arm's column is another date
select day, amount from {{ ref('orders') }} union all select shipped, amount from {{ ref('orders') }}

-- unknown: one arm moves its rows
select day, amount from {{ ref('orders') }} union all select day + 1, amount from {{ ref('orders') }}

-- gap: UNION BY NAME
select day, amount from {{ ref('orders') }} union all by name select amount, paid_on as day from {{ ref('payments') }}

-- unknown: customers who ordered and paid, whenever
select max(day) as day, customer_id from (
  select day, customer_id from {{ ref('orders') }} union all select paid_on, customer_id from {{ ref('payments') }}) as u
group by customer_id having count(*) > 1

-- unknown: the days are in different columns of the two arms
select day, shipped from {{ ref('orders') }} union all select shipped, day from {{ ref('orders') }}

-- unknown: customers in one but not in the other lose their day
select o.day, o.customer_id from {{ ref('orders') }} as o
join (select customer_id from {{ ref('orders') }} except select customer_id from {{ ref('payments') }}) as x using (customer_id)
