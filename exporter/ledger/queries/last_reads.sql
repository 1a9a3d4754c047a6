SELECT content FROM gpu_reads WHERE hw_id IN (%s) ORDER BY hw_id%s
