/*
target: snowflake
model: daily_delays
partitions: daily(start='2013-01-01', end='2014-01-01', timezone='America/New_York')
partition_expr: flight_date
run: 2013-11-03
inputs:
  departures:
    partitions: hourly(start='2013-01-01', end='2014-01-01', timezone='America/New_York')
    partition_expr: departs_at
    columns: {departs_at: TIMESTAMP_LTZ(9)}
output: {FLIGHT_DATE: DATE, CARRIER: VARCHAR(16777216), FLIGHTS: "NUMBER(18,0)", AVG_DELAY: FLOAT}
show: [nulls, stage]
*/
select flight_date, carrier, count(*) as flights, avg(dep_delay) as avg_delay
from {{ ref('departures') }}          -- the 25 hours of the day
group by flight_date, carrier
-- ---------------------------------------------------------------- runs as
select count(*) from mart.departures where departs_at is null;
create temporary table pw_stage_1 as select FLIGHT_DATE, CARRIER, FLIGHTS, AVG_DELAY from (select flight_date, carrier, count(*) as flights, avg(dep_delay) as avg_delay
from (select * from mart.departures where departs_at >= '2013-11-03 00:00:00-04:00'::TIMESTAMP_LTZ and departs_at < '2013-11-04 00:00:00-05:00'::TIMESTAMP_LTZ) as departures          -- the 25 hours of the day
group by flight_date, carrier
) as daily_delays;
select count(*) from pw_stage_1 as daily_delays where (flight_date >= DATE '2013-11-03' and flight_date < DATE '2013-11-04') is not true;
delete from mart.daily_delays where flight_date >= DATE '2013-11-03' and flight_date < DATE '2013-11-04';
insert into mart.daily_delays (FLIGHT_DATE, CARRIER, FLIGHTS, AVG_DELAY) select FLIGHT_DATE, CARRIER, FLIGHTS, AVG_DELAY from pw_stage_1 as daily_delays where flight_date >= DATE '2013-11-03' and flight_date < DATE '2013-11-04';
-- rows may leave their partition
