-- Joins: with inputs that have no partitions, and between inputs that have.
-- reader: daily

-- proven common: names looked up
select o.day, o.order_id, c.name from {{ ref('orders') }} as o left join {{ ref('customers') }} as c on c.customer_id = o.customer_id

-- proven common: only orders of known customers
select o.day, o.order_id, c.name from {{ ref('orders') }} as o join {{ ref('customers') }} as c using (customer_id)

-- proven common: a lookup, then groups
select o.day, c.country, sum(o.amount) as amount from {{ ref('orders') }} as o
left join {{ ref('customers') }} as c on c.customer_id = o.customer_id group by o.day, c.country

-- proven common: two facts joined on their days
select o.day, o.order_id, p.amount as paid from {{ ref('orders') }} as o
join {{ ref('payments') }} as p on p.order_id = o.order_id and p.paid_on = o.day

-- proven common: the same, keeping orders without payment
select o.day, o.order_id, p.amount as paid from {{ ref('orders') }} as o
left join {{ ref('payments') }} as p on p.order_id = o.order_id and p.paid_on = o.day

-- proven common: daily totals of two facts
with o as (select day, sum(amount) as ordered from {{ ref('orders') }} group by 1),
p as (select paid_on as day, sum(amount) as paid from {{ ref('payments') }} group by 1)
select o.day, o.ordered, p.paid from o left join p on p.day = o.day

-- proven common: either side may be missing
with o as (select day, sum(amount) as ordered from {{ ref('orders') }} group by 1),
p as (select paid_on as day, sum(amount) as paid from {{ ref('payments') }} group by 1)
select coalesce(o.day, p.day) as day, o.ordered, p.paid from o full join p on p.day = o.day

-- proven common: the same with USING
with o as (select day, sum(amount) as ordered from {{ ref('orders') }} group by 1),
p as (select paid_on as day, sum(amount) as paid from {{ ref('payments') }} group by 1)
select day, ordered, paid from o full join p using (day)

-- proven common: a calendar with days that have no orders
select c.day, count(o.order_id) as orders from {{ ref('calendar') }} as c
left join {{ ref('orders') }} as o on o.day = c.day group by c.day

-- proven: the same with a filtered calendar
select c.day, o.order_id from (select * from {{ ref('calendar') }} where {{ partition_filter('day') }}) as c
left join {{ ref('orders') }} as o on o.day = c.day

-- proven: RIGHT JOIN keeps the orders
select o.day, c.name from {{ ref('customers') }} as c right join {{ ref('orders') }} as o on o.customer_id = c.customer_id

-- proven: a comma and a condition
select o.day, p.amount from {{ ref('orders') }} as o, {{ ref('payments') }} as p
where o.day = p.paid_on and o.order_id = p.order_id

-- proven: the day of the other side is the same in an inner join
select p.paid_on as day, o.amount from {{ ref('orders') }} as o join {{ ref('payments') }} as p on p.paid_on = o.day

-- proven: a constant table crossed in
select o.day, v.x from {{ ref('orders') }} as o cross join (values (1), (2)) as v(x)

-- proven: joined with itself on the day
select a.day, a.order_id, b.order_id as other from {{ ref('orders') }} as a
join {{ ref('orders') }} as b on a.day = b.day and a.order_id < b.order_id

-- proven: three, each tied to the one before
select o.day, p.amount, q.amount as again from {{ ref('orders') }} as o
join {{ ref('payments') }} as p on p.paid_on = o.day
join {{ ref('payments') }} as q on q.paid_on = p.paid_on

-- proven: tied to a column that may be NULL, which then matches nothing
select o.day, q.amount from {{ ref('orders') }} as o
left join {{ ref('payments') }} as p on p.paid_on = o.day and p.order_id = o.order_id
left join {{ ref('payments') }} as q on q.paid_on = p.paid_on

-- proven: SEMI JOIN on the day
select o.day, o.order_id from {{ ref('orders') }} as o
semi join {{ ref('payments') }} as p on p.paid_on = o.day and p.order_id = o.order_id

-- proven: ANTI JOIN on the day
select o.day, o.order_id from {{ ref('orders') }} as o
anti join {{ ref('payments') }} as p on p.paid_on = o.day and p.order_id = o.order_id

-- proven: ranges in a table without partitions
select o.day, c.name from {{ ref('orders') }} as o
join {{ ref('customers') }} as c on c.customer_id = o.customer_id and o.day >= c.since

-- proven: a lookup with a window in it
select o.day, c.place from {{ ref('orders') }} as o
join (select customer_id, rank() over (order by since) as place from {{ ref('customers') }}) as c using (customer_id)

-- proven: the prices of the whole month, one per day wanted
select o.day, p.price from {{ ref('orders') }} as o
left join {{ ref('prices', mapping=all()) }} as p on p.month = date_trunc('month', o.day)

-- proven: IS NOT DISTINCT FROM is as good as equality
select o.day, p.amount from {{ ref('orders') }} as o join {{ ref('payments') }} as p on p.paid_on is not distinct from o.day

-- refuted: payments come on other days
select o.day, o.order_id, p.amount as paid from {{ ref('orders') }} as o join {{ ref('payments') }} as p on p.order_id = o.order_id

-- refuted: everything with everything
select o.day, p.amount from {{ ref('orders') }} as o cross join {{ ref('payments') }} as p

-- refuted: a customer's other orders
select a.day, a.order_id, b.order_id as other from {{ ref('orders') }} as a join {{ ref('orders') }} as b on a.customer_id = b.customer_id

-- unknown: payments of other days, or none
select o.day, o.order_id, p.amount as paid from {{ ref('orders') }} as o left join {{ ref('payments') }} as p using (order_id)

-- unknown: days that are near are other days
select o.day, p.amount from {{ ref('orders') }} as o join {{ ref('payments') }} as p on p.paid_on >= o.day

-- unknown: the day before
select o.day, p.amount from {{ ref('orders') }} as o join {{ ref('payments') }} as p on p.paid_on = o.day - 1

-- unknown: matched on either
select o.day, p.amount from {{ ref('orders') }} as o
join {{ ref('payments') }} as p on p.paid_on = o.day or p.order_id = o.order_id

-- unknown: one side's day in a FULL JOIN is NULL for rows of the other
select o.day, p.amount from {{ ref('orders') }} as o full join {{ ref('payments') }} as p on p.order_id = o.order_id

-- refuted: the shipping day is not the partition
select o.day, p.amount from {{ ref('orders') }} as o join {{ ref('payments') }} as p on p.paid_on = o.shipped

-- unknown: which customers are missing depends on what is read
select o.day, c.name from {{ ref('customers') }} as c left join {{ ref('orders') }} as o on o.customer_id = c.customer_id
group by o.day, c.name having count(*) > 1

-- unknown: customers without orders
select c.since as day, c.name from {{ ref('customers') }} as c anti join {{ ref('orders') }} as o on o.customer_id = c.customer_id

-- unknown: POSITIONAL JOIN goes by the order of rows
select o.day, p.amount from {{ ref('orders') }} as o positional join {{ ref('payments') }} as p

-- gap: ASOF JOIN on the day
select o.day, p.amount from {{ ref('orders') }} as o
asof join {{ ref('payments') }} as p on o.day = p.paid_on and o.order_id >= p.order_id
