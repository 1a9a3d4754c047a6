-- PostgreSQL's SQL. migrate.go replaces the types that SQLite and MySQL call otherwise.
-- Times are UTC. Times and energies are in seconds and joules, sizes in bytes. Lists and labels are JSON.

CREATE TABLE IF NOT EXISTS gpus (
	hw_id VARCHAR(255) PRIMARY KEY,
	hw_parent VARCHAR(255),
	hw_name VARCHAR(255),
	hw_model VARCHAR(255),
	hw_vendor VARCHAR(255),
	hw_gpu_partition_profile VARCHAR(255),
	k8s_cluster_name VARCHAR(255),
	k8s_node_name VARCHAR(255),
	host_name VARCHAR(255),
	first_seen TIMESTAMP NOT NULL,
	last_seen TIMESTAMP NOT NULL
);

-- The last read of each GPU, from which the next one is counted. Only the exporter uses it.
CREATE TABLE IF NOT EXISTS gpu_reads (
	hw_id VARCHAR(255) PRIMARY KEY,
	read_time TIMESTAMP NOT NULL,
	content TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS allocations (
	hw_id VARCHAR(255) NOT NULL,
	holder VARCHAR(36) NOT NULL,
	hour_time TIMESTAMP NOT NULL,
	start_time TIMESTAMP NOT NULL,
	end_time TIMESTAMP NOT NULL,
	hw_parent VARCHAR(255),
	hw_model VARCHAR(255),
	hw_gpu_partition_profile VARCHAR(255),
	k8s_cluster_name VARCHAR(255),
	k8s_node_name VARCHAR(255),
	host_name VARCHAR(255),
	k8s_namespace_name VARCHAR(255),
	k8s_pod_name VARCHAR(255),
	k8s_pod_uid VARCHAR(255),
	k8s_container_name VARCHAR(255),
	k8s_workload_kind VARCHAR(255),
	k8s_workload_name VARCHAR(255),
	slurm_job_id VARCHAR(255),
	slurm_job_user VARCHAR(255),
	slurm_job_account VARCHAR(255),
	labels TEXT,
	share DOUBLE PRECISION,
	held_time DOUBLE PRECISION NOT NULL,
	busy_time DOUBLE PRECISION NOT NULL,
	idle_time DOUBLE PRECISION NOT NULL,
	unknown_use_time DOUBLE PRECISION NOT NULL,
	unallocated_time DOUBLE PRECISION NOT NULL,
	unknown_time DOUBLE PRECISION NOT NULL,
	energy DOUBLE PRECISION,
	memory_peak BIGINT,
	PRIMARY KEY (hw_id, holder, hour_time)
);
CREATE INDEX allocations_hour_time ON allocations (hour_time);

CREATE TABLE IF NOT EXISTS gpu_workloads (
	k8s_workload_uid VARCHAR(255) PRIMARY KEY,
	uid VARCHAR(255) NOT NULL,
	updated_time TIMESTAMP NOT NULL,
	k8s_cluster_name VARCHAR(255),
	k8s_namespace_name VARCHAR(255),
	k8s_workload_kind VARCHAR(255),
	k8s_workload_name VARCHAR(255),
	k8s_workload_api_version VARCHAR(255),
	k8s_workload_owners TEXT,
	k8s_resource_requests TEXT,
	labels TEXT,
	pod_count BIGINT,
	pod_count_peak BIGINT,
	started_time TIMESTAMP,
	ended_time TIMESTAMP
);
CREATE INDEX gpu_workloads_updated_time ON gpu_workloads (updated_time);

CREATE TABLE IF NOT EXISTS gpu_pods (
	k8s_pod_uid VARCHAR(255) PRIMARY KEY,
	uid VARCHAR(255) NOT NULL,
	updated_time TIMESTAMP NOT NULL,
	k8s_cluster_name VARCHAR(255),
	k8s_namespace_name VARCHAR(255),
	k8s_pod_name VARCHAR(255),
	k8s_node_name VARCHAR(255),
	k8s_workload_uid VARCHAR(255),
	k8s_workload_kind VARCHAR(255),
	k8s_workload_name VARCHAR(255),
	k8s_pod_status_phase VARCHAR(255),
	k8s_resource_requests TEXT,
	labels TEXT,
	restart_count BIGINT,
	exit_code BIGINT,
	terminated_reason VARCHAR(255),
	created_time TIMESTAMP,
	scheduled_time TIMESTAMP,
	running_time TIMESTAMP,
	finished_time TIMESTAMP,
	deleted_time TIMESTAMP
);
CREATE INDEX gpu_pods_updated_time ON gpu_pods (updated_time);

CREATE TABLE IF NOT EXISTS workload_pod_references (
	k8s_workload_uid VARCHAR(255) NOT NULL,
	k8s_pod_uid VARCHAR(255) NOT NULL,
	uid VARCHAR(255) NOT NULL,
	first_seen TIMESTAMP NOT NULL,
	updated_time TIMESTAMP NOT NULL,
	PRIMARY KEY (k8s_workload_uid, k8s_pod_uid)
);
CREATE INDEX workload_pod_references_pod ON workload_pod_references (k8s_pod_uid);
CREATE INDEX workload_pod_references_updated_time ON workload_pod_references (updated_time);

CREATE TABLE IF NOT EXISTS pod_resources (
	allocation VARCHAR(36) PRIMARY KEY,
	uid VARCHAR(255) NOT NULL,
	updated_time TIMESTAMP NOT NULL,
	hw_id VARCHAR(255),
	hw_parent VARCHAR(255),
	hw_model VARCHAR(255),
	hw_gpu_partition_profile VARCHAR(255),
	k8s_cluster_name VARCHAR(255),
	k8s_node_name VARCHAR(255),
	host_name VARCHAR(255),
	k8s_namespace_name VARCHAR(255),
	k8s_pod_name VARCHAR(255),
	k8s_pod_uid VARCHAR(255),
	k8s_container_name VARCHAR(255),
	k8s_workload_kind VARCHAR(255),
	k8s_workload_name VARCHAR(255),
	slurm_job_id VARCHAR(255),
	k8s_resource_name VARCHAR(255),
	hw_gpu_allocator VARCHAR(255),
	hw_gpu_sharing VARCHAR(255),
	labels TEXT,
	hw_gpu_use_count BIGINT,
	hw_gpu_use_start_time TIMESTAMP NOT NULL,
	hw_gpu_use_start_known BOOLEAN,
	hw_gpu_use_end_time TIMESTAMP,
	hw_gpu_use_end_known BOOLEAN,
	hw_gpu_use_duration DOUBLE PRECISION,
	hw_gpu_use_gpu_time DOUBLE PRECISION,
	hw_gpu_use_busy_time DOUBLE PRECISION,
	hw_gpu_use_idle_time DOUBLE PRECISION,
	hw_gpu_use_energy DOUBLE PRECISION,
	hw_gpu_use_memory_peak BIGINT,
	hw_gpu_use_memory_mean BIGINT
);
CREATE INDEX pod_resources_pod ON pod_resources (k8s_pod_uid);
CREATE INDEX pod_resources_updated_time ON pod_resources (updated_time);

CREATE TABLE IF NOT EXISTS pod_snapshots (
	uid VARCHAR(255) PRIMARY KEY,
	event_time TIMESTAMP NOT NULL,
	k8s_pod_uid VARCHAR(255),
	k8s_namespace_name VARCHAR(255),
	k8s_pod_name VARCHAR(255),
	snapshot TEXT NOT NULL
);
CREATE INDEX pod_snapshots_pod ON pod_snapshots (k8s_pod_uid);
CREATE INDEX pod_snapshots_event_time ON pod_snapshots (event_time);

CREATE TABLE IF NOT EXISTS gpu_pods_events (
	uid VARCHAR(255) PRIMARY KEY,
	event_time TIMESTAMP NOT NULL,
	event_name VARCHAR(255) NOT NULL,
	severity_number BIGINT NOT NULL,
	body TEXT NOT NULL,
	k8s_pod_uid VARCHAR(255),
	k8s_namespace_name VARCHAR(255),
	k8s_pod_name VARCHAR(255),
	k8s_node_name VARCHAR(255),
	k8s_pod_status_phase VARCHAR(255),
	k8s_pod_status_reason TEXT,
	k8s_pod_condition_type VARCHAR(255),
	k8s_pod_condition_status VARCHAR(255),
	k8s_pod_condition_reason VARCHAR(255),
	k8s_container_name VARCHAR(255),
	restart_count BIGINT,
	exit_code BIGINT,
	terminated_reason VARCHAR(255)
);
CREATE INDEX gpu_pods_events_pod ON gpu_pods_events (k8s_pod_uid);
CREATE INDEX gpu_pods_events_event_time ON gpu_pods_events (event_time);

CREATE TABLE IF NOT EXISTS gpu_events (
	uid VARCHAR(255) PRIMARY KEY,
	event_time TIMESTAMP NOT NULL,
	event_name VARCHAR(255) NOT NULL,
	severity_number BIGINT NOT NULL,
	body TEXT NOT NULL,
	hw_id VARCHAR(255),
	hw_parent VARCHAR(255),
	hw_model VARCHAR(255),
	k8s_cluster_name VARCHAR(255),
	k8s_node_name VARCHAR(255),
	host_name VARCHAR(255),
	hw_state VARCHAR(255),
	hw_gpu_xid VARCHAR(255),
	hw_gpu_recommended_action VARCHAR(255),
	k8s_namespace_name VARCHAR(255),
	k8s_pod_name VARCHAR(255),
	k8s_pod_uid VARCHAR(255),
	attributes TEXT NOT NULL
);
CREATE INDEX gpu_events_device ON gpu_events (hw_id);
CREATE INDEX gpu_events_event_time ON gpu_events (event_time);
