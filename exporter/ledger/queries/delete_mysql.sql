DELETE FROM %[1]s WHERE %[3]s < %[4]s LIMIT %[5]d
