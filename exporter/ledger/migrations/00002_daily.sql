-- The sums of allocations by day, for each kind of report (namespace, node, ...) with the columns that the report is by.
CREATE TABLE IF NOT EXISTS allocations_daily (
	day_time TIMESTAMP NOT NULL,
	report VARCHAR(16) NOT NULL,
	line BIGINT NOT NULL,
	hw_model VARCHAR(255),
	k8s_node_name VARCHAR(255),
	host_name VARCHAR(255),
	k8s_namespace_name VARCHAR(255),
	k8s_workload_kind VARCHAR(255),
	k8s_workload_name VARCHAR(255),
	slurm_job_user VARCHAR(255),
	slurm_job_account VARCHAR(255),
	labels TEXT,
	held_time DOUBLE PRECISION NOT NULL,
	busy_time DOUBLE PRECISION NOT NULL,
	idle_time DOUBLE PRECISION NOT NULL,
	unknown_use_time DOUBLE PRECISION NOT NULL,
	unallocated_time DOUBLE PRECISION NOT NULL,
	unknown_time DOUBLE PRECISION NOT NULL,
	energy DOUBLE PRECISION,
	PRIMARY KEY (report, day_time, line)
);
CREATE INDEX allocations_daily_day_time ON allocations_daily (day_time);

-- The days of allocations. Without rolled_time, rows of the day were written later than allocations_daily, which then lacks them.
CREATE TABLE IF NOT EXISTS allocation_days (
	day_time TIMESTAMP PRIMARY KEY,
	rolled_time TIMESTAMP
);
