-- EXISTS, IN, single values, LATERAL.
-- reader: daily

-- proven common: customers from a list without partitions
select day, order_id from {{ ref('orders') }} where customer_id in (select customer_id from {{ ref('customers') }} where country = 'DE')

-- proven: a single value of a table without partitions
select day, order_id, amount / (select max(since) - min(since) from {{ ref('customers') }}) as x from {{ ref('orders') }}

-- proven: paid on the same day
select o.day, o.order_id from {{ ref('orders') }} as o
where exists (select 1 from {{ ref('payments') }} as p where p.order_id = o.order_id and p.paid_on = o.day)

-- proven: not paid on the same day
select o.day, o.order_id from {{ ref('orders') }} as o
where not exists (select 1 from {{ ref('payments') }} as p where p.order_id = o.order_id and p.paid_on = o.day)

-- proven: the day's highest payment
select o.day, o.order_id, (select max(p.amount) from {{ ref('payments') }} as p where p.paid_on = o.day) as most
from {{ ref('orders') }} as o

-- proven: above the day's mean
select o.day, o.order_id from {{ ref('orders') }} as o
where o.amount > (select avg(x.amount) from {{ ref('orders') }} as x where x.day = o.day)

-- proven: pairs of day and order
select day, order_id from {{ ref('orders') }} where (day, order_id) in (select paid_on, order_id from {{ ref('payments') }})

-- proven: days on which anything was paid
select day, order_id from {{ ref('orders') }} where day in (select paid_on from {{ ref('payments') }})

-- proven: days on which nothing was paid
select day, order_id from {{ ref('orders') }} where day not in (select paid_on from {{ ref('payments') }})

-- proven: orders of the day that were paid, by IN
select o.day, o.order_id from {{ ref('orders') }} as o
where o.order_id in (select p.order_id from {{ ref('payments') }} as p where p.paid_on = o.day)

-- proven: NOT IN among the rows of the day
select o.day, o.order_id from {{ ref('orders') }} as o
where o.order_id not in (select p.order_id from {{ ref('payments') }} as p where p.paid_on = o.day)

-- proven: a calendar with what was sold on each day
select c.day, (select sum(o.amount) from {{ ref('orders') }} as o where o.day = c.day) as sold from {{ ref('calendar') }} as c

-- proven: LATERAL over the rows of the same day
select o.day, x.paid from {{ ref('orders') }} as o,
  lateral (select sum(p.amount) as paid from {{ ref('payments') }} as p where p.paid_on = o.day) as x

-- proven: LATERAL over the row itself
select o.day, x.twice from {{ ref('orders') }} as o, lateral (select o.amount * 2 as twice) as x

-- proven: a row per part of a list
select o.day, u.part from {{ ref('orders') }} as o, unnest(string_split(o.status, 'a')) as u(part)

-- proven: two levels, each tied to the day
select o.day, o.order_id from {{ ref('orders') }} as o where exists (
  select 1 from {{ ref('payments') }} as p where p.paid_on = o.day and exists (
    select 1 from {{ ref('orders') }} as q where q.day = p.paid_on and q.amount > p.amount))

-- refuted: customers who paid on any of the days
select day, order_id from {{ ref('orders') }} where customer_id in (select customer_id from {{ ref('payments') }})

-- refuted: the total of all payments
select day, order_id, (select sum(amount) from {{ ref('payments') }}) as total from {{ ref('orders') }}

-- unknown: above the mean of all days
select day, order_id from {{ ref('orders') }} where amount > (select avg(amount) from {{ ref('orders') }})

-- unknown: paid on any day
select o.day, o.order_id from {{ ref('orders') }} as o
where exists (select 1 from {{ ref('payments') }} as p where p.order_id = o.order_id)

-- unknown: never paid
select o.day, o.order_id from {{ ref('orders') }} as o
where not exists (select 1 from {{ ref('payments') }} as p where p.order_id = o.order_id)

-- unknown: NOT IN with NULLs in between
select day, order_id from {{ ref('orders') }} where customer_id not in (select customer_id from {{ ref('payments') }})

-- unknown: paid before
select o.day, o.order_id from {{ ref('orders') }} as o
where exists (select 1 from {{ ref('payments') }} as p where p.order_id = o.order_id and p.paid_on <= o.day)

-- unknown: tied to another date
select o.day, (select max(p.amount) from {{ ref('payments') }} as p where p.paid_on = o.shipped) as x from {{ ref('orders') }} as o

-- unknown: only one level is tied
select o.day, o.order_id from {{ ref('orders') }} as o where exists (
  select 1 from {{ ref('payments') }} as p where p.paid_on = o.day and p.order_id in (select order_id from {{ ref('orders') }}))

-- unknown: compared with all
select day, order_id from {{ ref('orders') }} where amount >= all (select amount from {{ ref('payments') }})

-- unknown: LATERAL over other days
select o.day, x.paid from {{ ref('orders') }} as o,
  lateral (select sum(p.amount) as paid from {{ ref('payments') }} as p where p.order_id = o.order_id) as x
