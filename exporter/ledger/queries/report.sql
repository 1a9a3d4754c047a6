SELECT SUM(held_time), SUM(busy_time), SUM(idle_time), SUM(unknown_use_time), SUM(unallocated_time), SUM(unknown_time), SUM(energy), %s
FROM allocations WHERE hour_time >= %s AND hour_time < %s GROUP BY %s
