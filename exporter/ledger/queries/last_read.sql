SELECT content FROM gpu_reads WHERE hw_id = %s%s
