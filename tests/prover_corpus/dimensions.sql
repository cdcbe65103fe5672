-- Partitions of several dimensions: each must hold.
-- reader: day and region

-- proven common: totals per day and region
select day, region, sum(amount) as amount from {{ ref('sales') }} group by day, region

-- proven: within the day and region
select day, region, rank() over (partition by day, region order by amount) as place from {{ ref('sales') }}

-- proven common: a lookup
select s.day, s.region, p.name from {{ ref('sales') }} as s left join {{ ref('customers') }} as p on p.customer_id = s.customer_id

-- proven: joined on both
select a.day, a.region, b.amount from {{ ref('sales') }} as a join {{ ref('sales') }} as b on a.day = b.day and a.region = b.region

-- proven: an input by day only, joined on the day
select s.day, s.region, o.amount from {{ ref('sales') }} as s join {{ ref('orders') }} as o on o.day = s.day

-- proven: an input by day only, cut to the region by the output
select day, region, sum(amount) as amount from {{ ref('orders') }} group by day, region

-- proven: filtered on the region too
select day, region, amount from {{ ref('orders', filter={'region': 'region'}) }}

-- proven: both in DISTINCT
select distinct day, region from {{ ref('sales') }}

-- refuted: the region is not in the groups
select day, max(region) as region, sum(amount) as amount from {{ ref('sales') }} group by day

-- refuted: the day is not in the groups
select max(day) as day, region, sum(amount) as amount from {{ ref('sales') }} group by region

-- refuted: the share of a region in the day's total
select day, region, amount, sum(amount) over (partition by day) as total from {{ ref('sales') }}

-- refuted: joined on the day only
select a.day, a.region, b.amount from {{ ref('sales') }} as a join {{ ref('sales') }} as b on a.customer_id = b.customer_id

-- refuted: regions of the day meet
select a.day, a.region, b.amount from {{ ref('sales') }} as a join {{ ref('sales') }} as b on a.day = b.day

-- unknown: the region changed
select day, upper(region) as region, amount from {{ ref('sales') }}

-- unknown: a region for rows that have none; true, as NULL is never read
select day, coalesce(region, 'eu') as region, amount from {{ ref('sales') }}

-- unknown: the best region of the day
select day, region from {{ ref('sales') }} qualify rank() over (partition by day order by amount desc) = 1 and amount > 0

-- unknown: days of orders that have no region are the same in each
select s.day, s.region from {{ ref('sales') }} as s
where not exists (select 1 from {{ ref('sales') }} as t where t.day = s.day and t.customer_id = s.customer_id and t.amount > s.amount)

-- refuted: a total per day, then per region
with d as (select day, sum(amount) as total from {{ ref('sales') }} group by day)
select s.day, s.region, d.total from {{ ref('sales') }} as s join d on d.day = s.day

-- reader: regions

-- proven common: one region after the other
select region, sum(amount) as amount from {{ ref('sales') }} group by region

-- proven: rows of a region over all days
select region, day, sum(amount) over (partition by region order by day) as so_far from {{ ref('sales') }}

-- proven: a table without regions of its own, cut by the output
select region, count(*) as n from {{ ref('orders', whole=true) }} group by region

-- refuted: a total over regions
select region, amount, sum(amount) over () as total from {{ ref('sales') }}

-- refuted: days span regions
select max(region) as region, day, sum(amount) as amount from {{ ref('sales') }} group by day

-- reader: daily

-- proven common: all regions of the day
select day, sum(amount) as amount from {{ ref('sales') }} group by day
