-- Columns and conditions of single rows.
-- reader: daily

-- proven common: a plain copy
select day, order_id, amount from {{ ref('orders') }}

-- proven common: every column
select * from {{ ref('orders') }}

-- proven common: computed columns beside the key
select day, order_id, amount * 1.2 as gross, upper(status) as status from {{ ref('orders') }}

-- proven common: a condition on a row
select day, order_id from {{ ref('orders') }} where status = 'paid' and amount > 10

-- proven common: CASE, COALESCE and casts of other columns
select day, case when amount > 100 then 'big' else 'small' end as size, coalesce(status, 'none') as status,
  cast(amount as varchar) as amount_text
from {{ ref('orders') }}

-- proven common: renaming steps in CTEs
with source as (select * from {{ ref('orders') }}),
renamed as (select day, order_id as id, customer_id as customer, amount from source)
select * from renamed

-- proven: nested subqueries
select day, amount from (select day, amount from (select * from {{ ref('orders') }}) as a) as b

-- proven: the order of rows is no part of a table
select day, amount from {{ ref('orders') }} order by amount desc

-- proven: a star without another column
select * exclude (status) from {{ ref('orders') }}

-- proven: a star with another column replaced
select * replace (amount + 1 as amount) from {{ ref('orders') }}

-- proven: the key through an alias and back
select d as day, amount from (select day as d, amount from {{ ref('orders') }}) as o

-- proven: a column alias list
select d as day, i from {{ ref('orders') }} as o(i, c, d)

-- proven: cast of a date to a date
select cast(day as date) as day, amount from {{ ref('orders') }}

-- proven: date_trunc at the grain of the partitions
select date_trunc('day', day) as day, amount from {{ ref('orders') }}

-- proven: one row becomes several
select day, unnest([amount, 0]) as amount from {{ ref('orders') }}

-- proven: a condition on the partition column itself
select day, amount from {{ ref('orders') }} where day >= date '2024-02-01'

-- proven: the key twice, once changed
select day, day + 1 as next_day, date_trunc('month', day) as month from {{ ref('orders') }}

-- refuted: the next day is another partition
select day + 1 as day, amount from {{ ref('orders') }}

-- refuted: so is the day before
select day - interval 1 day as day, amount from {{ ref('orders') }}

-- refuted: the first of the month is another partition
select cast(date_trunc('month', day) as date) as day, amount from {{ ref('orders') }}

-- refuted: in a CTE as well
with moved as (select day + 1 as day, amount from {{ ref('orders') }}) select day, amount from moved

-- refuted: and behind `replace`
select * replace (day + 2 as day) from {{ ref('orders') }}

-- unknown: the end of the month is another partition, mostly
select last_day(day) as day, amount from {{ ref('orders') }}

-- unknown: another date column is another partition
select shipped as day, amount from {{ ref('orders') }}

-- unknown: which column it is depends on the row
select case when amount > 10 then day else shipped end as day, amount from {{ ref('orders') }}

-- unknown: the same with greatest()
select greatest(day, shipped) as day, amount from {{ ref('orders') }}

-- gap: NULL never is in a filtered column, so this is `day`
select coalesce(day, shipped) as day, amount from {{ ref('orders') }}

-- gap: `+ 0` changes nothing
select day + 0 as day, amount from {{ ref('orders') }}

-- unknown: another value for each row each time
select day, random() as r from {{ ref('orders') }}

-- unknown: rows chosen at random
select day, amount from {{ ref('orders') }} where random() < 0.5

-- unknown: the clock differs between queries
select day, now() as loaded_at from {{ ref('orders') }}

-- unknown: the date may change between queries
select day, day - current_date as age from {{ ref('orders') }}

-- unknown: a new identifier each time
select day, uuid() as id, amount from {{ ref('orders') }}

-- unknown: a sample
select day, amount from {{ ref('orders') }} using sample 10 percent

-- proven: nothing is read but what the condition lets through
select day, amount from {{ ref('orders', whole=true) }} where {{ partition_filter('day') }}

-- proven: all is read in every run, and the output is cut to its partitions
select day, amount from {{ ref('orders', mapping=all()) }}

-- unknown: two conditions on different columns cannot both be the partition
select shipped as day, amount from {{ ref('orders') }} where {{ partition_filter('shipped') }}

-- unknown: the condition may not hold for rows that are kept
select day, amount from {{ ref('orders', whole=true) }} where {{ partition_filter('day') }} or amount > 10
