INSERT INTO allocations_daily (day_time, report, line, held_time, busy_time, idle_time, unknown_use_time, unallocated_time, unknown_time, energy, %[1]s)
SELECT '%[2]s', '%[3]s', ROW_NUMBER() OVER (), SUM(held_time), SUM(busy_time), SUM(idle_time), SUM(unknown_use_time), SUM(unallocated_time), SUM(unknown_time), SUM(energy), %[1]s
FROM allocations WHERE hour_time >= %[4]s AND hour_time < %[5]s GROUP BY %[1]s
