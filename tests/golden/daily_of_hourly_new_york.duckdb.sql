/*
target: duckdb
model: daily_delays
partitions: daily(start='2013-01-01', end='2014-01-01', timezone='America/New_York')
partition_expr: flight_date
run: 2013-11-03
inputs:
  departures:
    partitions: hourly(start='2013-01-01', end='2014-01-01', timezone='America/New_York')
    partition_expr: departs_at
    columns: {flight_date: DATE, carrier: VARCHAR, dep_delay: DOUBLE, departs_at: TIMESTAMPTZ}
show: [nulls, stage]
*/
select flight_date, carrier, count(*) as flights, avg(dep_delay) as avg_delay
from {{ ref('departures') }}          -- the 25 hours of the day
group by flight_date, carrier
-- ---------------------------------------------------------------- runs as
select count(*) from mart.departures where departs_at is null;
create temporary table pw_stage_1 as select flight_date, carrier, flights, avg_delay from (select flight_date, carrier, count(*) as flights, avg(dep_delay) as avg_delay
from (select * from mart.departures where departs_at >= TIMESTAMPTZ '2013-11-03 00:00:00-04:00' and departs_at < TIMESTAMPTZ '2013-11-04 00:00:00-05:00') as departures          -- the 25 hours of the day
group by flight_date, carrier
) as daily_delays;
select count(*) from pw_stage_1 as daily_delays where (flight_date >= DATE '2013-11-03' and flight_date < DATE '2013-11-04') is not true;
delete from mart.daily_delays where flight_date >= DATE '2013-11-03' and flight_date < DATE '2013-11-04';
insert into mart.daily_delays (flight_date, carrier, flights, avg_delay) select flight_date, carrier, flights, avg_delay from pw_stage_1 as daily_delays where flight_date >= DATE '2013-11-03' and flight_date < DATE '2013-11-04';
-- rows may leave their partition
