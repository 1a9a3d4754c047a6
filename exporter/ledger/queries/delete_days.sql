DELETE FROM %s WHERE day_time %s %s
