-- Hours into days, casts, months, and time zones.
-- reader: daily

-- proven common: hours into days
select cast(ts as date) as day, count(*) as n from {{ ref('events') }} group by 1

-- proven common: with date_trunc
select date_trunc('day', ts) as day, kind, count(*) as n from {{ ref('events') }} group by all

-- proven: the rows as they are, by their timestamp
-- expr: ts
select ts, kind from {{ ref('events') }}

-- proven common: users of the day
select ts::date as day, count(distinct user_id) as users from {{ ref('events') }} group by ts::date

-- proven: cut to the hour first
select cast(h as date) as day, count(*) as n from (select date_trunc('hour', ts) as h from {{ ref('events') }}) as e group by 1

-- proven: hours as groups
select cast(date_trunc('hour', ts) as date) as day, extract(hour from ts) as hour, count(*) as n from {{ ref('events') }} group by 1, 2

-- proven common: a source by its own expression
select cast(ts as date) as day, count(*) as n from {{ source('raw', 'clicks') }} group by cast(ts as date)

-- proven: events joined with the orders of the day
select o.day, e.kind from {{ ref('orders') }} as o join {{ ref('events') }} as e on cast(e.ts as date) = o.day

-- proven: numbered within the day by time, where each stands once
select cast(h as date) as day, h, sum(n) over (partition by cast(h as date) order by h) as so_far from (
  select date_trunc('hour', ts) as h, count(*) as n from {{ ref('events') }} group by 1) as e

-- refuted: months span days
select date_trunc('month', ts) as day, count(*) as n from {{ ref('events') }} group by 1

-- refuted: weeks span days
select cast(date_trunc('week', ts) as date) as day, count(*) as n from {{ ref('events') }} group by 1

-- unknown: moved by an hour
select cast(ts + interval 1 hour as date) as day, count(*) as n from {{ ref('events') }} group by 1

-- unknown: another zone's day
select cast((ts at time zone 'UTC') at time zone 'Asia/Tokyo' as date) as day, count(*) as n from {{ ref('events') }} group by 1

-- unknown: text of a date is text
select strptime(strftime(ts, '%Y-%m-%d'), '%Y-%m-%d')::date as day, count(*) as n from {{ ref('events') }} group by 1

-- refuted: a running count over days
select cast(ts as date) as day, count(*) over (partition by user_id order by event_id) as n from {{ ref('events') }}

-- refuted: a week's visits span days
select cast(min(ts) as date) as day, user_id, count(*) as n from {{ ref('events') }} group by user_id, date_trunc('week', ts)

-- reader: monthly

-- proven common: days into months
select date_trunc('month', day) as day, sum(amount) as amount from {{ ref('orders') }} group by 1

-- proven: days as groups of a month
select day, sum(amount) as amount from {{ ref('orders') }} group by day

-- proven: hours into months
select cast(date_trunc('month', ts) as date) as day, count(*) as n from {{ ref('events') }} group by 1

-- proven: within the month
select day, amount, rank() over (partition by date_trunc('month', day) order by amount) as place from {{ ref('orders') }}

-- refuted: over all months
select day, amount, rank() over (partition by customer_id order by amount) as place from {{ ref('orders') }}

-- refuted: quarters span months
select date_trunc('quarter', day) as day, sum(amount) as s from {{ ref('orders') }} group by 1

-- unknown: weeks begin in one month and end in another
select date_trunc('week', day) as day, sum(amount) as s from {{ ref('orders') }} group by 1

-- proven: this month and the two before
select date_trunc('month', day) as day, sum(sum(amount)) over (order by date_trunc('month', day)
  range between interval 2 month preceding and current row) as s
from {{ ref('orders', lookback=2) }} group by 1

-- reader: weekly

-- proven common: days into weeks
select date_trunc('week', day) as day, sum(amount) as amount from {{ ref('orders') }} group by 1

-- proven: days of a week
select day, count(*) as n from {{ ref('orders') }} group by day

-- proven: months overlap weeks, and are cut by the output
select month as day, price from {{ ref('prices') }}

-- refuted: over all weeks
select day, count(*) over (partition by customer_id) as n from {{ ref('orders') }}

-- unknown: months span weeks
select date_trunc('month', day) as day, sum(amount) as s from {{ ref('orders') }} group by 1

-- reader: sundays

-- proven: days of weeks that begin on Sunday
select day, sum(amount) as amount from {{ ref('orders') }} group by day

-- unknown: date_trunc begins weeks on Monday
select date_trunc('week', day) as day, sum(amount) as amount from {{ ref('orders') }} group by 1

-- reader: new york

-- proven common: instants into the days of New York
select cast(at_tz at time zone 'America/New_York' as date) as day, count(*) as n from {{ source('raw', 'pings') }} group by 1

-- proven: the same as a function
select cast(timezone('America/New_York', at_tz) as date) as day, value from {{ source('raw', 'pings') }}

-- unknown: the day of whoever runs the query
select cast(at_tz as date) as day, count(*) as n from {{ source('raw', 'pings') }} group by 1

-- unknown: the day in UTC
select cast(at_tz at time zone 'UTC' as date) as day, count(*) as n from {{ source('raw', 'pings') }} group by 1

-- unknown: the day in Los Angeles
select cast(at_tz at time zone 'America/Los_Angeles' as date) as day, count(*) as n from {{ source('raw', 'pings') }} group by 1

-- proven: UTC wall clock into the days of New York
select cast(ts at time zone 'UTC' at time zone 'America/New_York' as date) as day, count(*) as n from {{ ref('events') }} group by 1

-- unknown: UTC days are not those of New York
select cast(ts as date) as day, count(*) as n from {{ ref('events') }} group by 1

-- refuted: over all days
select cast(at_tz at time zone 'America/New_York' as date) as day, count(*) over (partition by value) as n from {{ source('raw', 'pings') }}
