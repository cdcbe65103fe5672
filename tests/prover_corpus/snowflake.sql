-- Snowflake's SQL.
-- dialect: snowflake
-- reader: daily

-- proven common: totals per day
select day, count_if(status = 'paid') as paid, sum(amount) as amount from {{ ref('orders') }} group by day

-- proven common: to_date of an hourly input
select to_date(ts) as day, count(*) as n from {{ ref('events') }} group by 1

-- proven common: date_trunc
select date_trunc('day', ts) as day, kind, count(*) as n from {{ ref('events') }} group by all

-- proven: ts::date
select ts::date as day, iff(kind = 'a', 1, 0) as is_a from {{ ref('events') }}

-- proven common: ranks within the day
select day, order_id from {{ ref('orders') }} qualify rank() over (partition by day order by amount desc) = 1

-- proven: values of a list in their own order
select day, listagg(status, ',') within group (order by status) as statuses from {{ ref('orders') }} group by day

-- proven: FLATTEN of the row's own list
select o.day, f.value as part from {{ ref('orders') }} as o, lateral flatten(input => split(o.status, 'a')) as f

-- proven: a path into JSON
select day, payload:kind::varchar as kind from {{ ref('orders') }}

-- proven common: a lookup
select o.day, c.name from {{ ref('orders') }} as o left join {{ ref('customers') }} as c on c.customer_id = o.customer_id

-- unknown: LISTAGG in no order
select day, listagg(status, ',') as statuses from {{ ref('orders') }} group by day

-- unknown: the latest version, with ties
select day, order_id from {{ ref('orders') }} qualify row_number() over (partition by day, order_id order by updated_at desc) = 1

-- refuted: the latest version over all days
select day, order_id from {{ ref('orders') }} qualify row_number() over (partition by order_id order by updated_at desc) = 1

-- refuted: the next day
select dateadd(day, 1, day) as day, amount from {{ ref('orders') }}

-- refuted: the month
select date_trunc('month', day) as day, sum(amount) as s from {{ ref('orders') }} group by 1

-- unknown: an identifier each time
select day, uuid_string() as id from {{ ref('orders') }}

-- unknown: a sequence
select day, s.nextval as id from {{ ref('orders') }}

-- unknown: the number of the row that comes next
select day, seq4() as id from {{ ref('orders') }}

-- unknown: the clock
select day, current_timestamp() as loaded from {{ ref('orders') }}

-- unknown: a sample
select day, amount from {{ ref('orders') }} sample (10)

-- unknown: another zone
select convert_timezone('UTC', 'Asia/Tokyo', ts)::date as day, count(*) as n from {{ ref('events') }} group by 1

-- refuted: TOP
select top 3 day, amount from {{ ref('orders') }}

-- unknown: approximate
select day, approx_percentile(amount, 0.5) as med from {{ ref('orders') }} group by day

-- unknown: names in quotes
select day as "day", amount from {{ ref('orders') }}

-- reader: new york

-- proven: UTC wall clock into the days of New York
select convert_timezone('UTC', 'America/New_York', ts)::date as day, count(*) as n from {{ ref('events') }} group by 1

-- unknown: the session's zone
select convert_timezone('America/New_York', ts)::date as day, count(*) as n from {{ ref('events') }} group by 1
