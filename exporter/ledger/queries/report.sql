SELECT SUM(held_time), SUM(busy_time), SUM(idle_time), SUM(unknown_use_time), SUM(unallocated_time), SUM(unknown_time), SUM(energy), %[1]s FROM (
	SELECT SUM(held_time) AS held_time, SUM(busy_time) AS busy_time, SUM(idle_time) AS idle_time, SUM(unknown_use_time) AS unknown_use_time,
		SUM(unallocated_time) AS unallocated_time, SUM(unknown_time) AS unknown_time, SUM(energy) AS energy, %[2]s
	FROM allocations WHERE %[3]s GROUP BY %[2]s
	UNION ALL
	SELECT SUM(held_time) AS held_time, SUM(busy_time) AS busy_time, SUM(idle_time) AS idle_time, SUM(unknown_use_time) AS unknown_use_time,
		SUM(unallocated_time) AS unallocated_time, SUM(unknown_time) AS unknown_time, SUM(energy) AS energy, %[2]s
	FROM allocations_daily WHERE report = '%[4]s' AND (%[5]s) GROUP BY %[2]s
) AS parts GROUP BY %[2]s
