SELECT SUM(held_time), SUM(busy_time), SUM(idle_time), SUM(unknown_use_time), SUM(unallocated_time), SUM(unknown_time), SUM(energy), %[1]s FROM (
	SELECT held_time, busy_time, idle_time, unknown_use_time, unallocated_time, unknown_time, energy, %[2]s FROM allocations WHERE %[3]s
	UNION ALL
	SELECT held_time, busy_time, idle_time, unknown_use_time, unallocated_time, unknown_time, energy, %[2]s FROM allocations_daily WHERE report = '%[4]s' AND (%[5]s)
) AS parts GROUP BY %[2]s
