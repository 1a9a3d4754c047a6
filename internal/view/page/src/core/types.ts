// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Code generated from the types of the API; DO NOT EDIT. Units are bytes, watts, joules, hertz, seconds, degrees Celsius, shares from 0 to 1.

export interface BadPages {
  count: number | null;
  limit: number | null;
}

export interface Cluster {
  last_seen: string;
  name: string;
  readable: boolean | null;
  sources: Source[];
}

export interface Container {
  allocated: boolean | null;
  allocator: string | null;
  batch_job: string | null;
  batch_system: string | null;
  container: string | null;
  container_id: string | null;
  container_name: string | null;
  energy_joules: number | null;
  idle_seconds: number | null;
  memory_bytes: number | null;
  memory_limit_bytes: number | null;
  namespace: string | null;
  pod: string | null;
  pod_uid: string | null;
  power_watts: number | null;
  resource: string | null;
  share: number | null;
  sharing: string | null;
  slurm_account: string | null;
  slurm_job: string | null;
  slurm_partition: string | null;
  slurm_sluid: string | null;
  slurm_user: string | null;
  systemd_unit: string | null;
  utilization: number | null;
  workload: string | null;
  workload_kind: string | null;
}

export interface Driver {
  vendor: string;
  version: string;
}

export interface Event {
  attributes: Record<string, unknown>;
  body: string | null;
  cluster: string | null;
  gpu: string | null;
  name: string;
  node: string | null;
  observed: string;
  severity: string;
  time: string;
  uid: string;
}

export interface EventList {
  items: Event[];
  next: string | null;
  time: string;
  total: number;
}

export interface Fabric {
  conditions: string[];
  state: string | null;
}

export interface Fan {
  sensor: string;
  speed_ratio: number;
}

export interface Finding {
  cluster: string | null;
  detail: string;
  gpu: string | null;
  index: number | null;
  kind: string;
  node: string | null;
  remedy: string;
  severity: string;
  what: string;
}

export interface FindingList {
  items: Finding[];
  next: string | null;
  time: string;
  total: number;
}

export interface GPU {
  allocated: number | null;
  bad_pages: BadPages;
  clocks_hertz: Record<string, number>;
  cluster: string | null;
  compute_capability: string | null;
  containers: Container[];
  driver_version: string | null;
  errors: Record<string, number>;
  fabric: Fabric;
  fans: Fan[];
  faults: string[];
  firmware_version: string | null;
  id: string;
  index: number | null;
  interconnects: Interconnect[];
  last_seen: string;
  memory: Memory;
  memory_banks: Record<string, number>;
  model: string | null;
  name: string | null;
  node: string;
  numa_node: number | null;
  parent: string | null;
  partition_profile: string | null;
  pci_address: string | null;
  pcie: PCIe;
  pending_modes: string[];
  performance_state: number | null;
  power: Power;
  processes: Process[];
  recovery_action: string | null;
  remap_states: string[];
  remapped_rows: Record<string, number>;
  retired_pages: Record<string, number>;
  serial_number: string | null;
  status: string | null;
  temperature_margins_celsius: Record<string, number>;
  temperatures: Temperature[];
  throttle_seconds: Record<string, number>;
  throttled: string[];
  utilization: Utilization;
  vendor: string | null;
  xids: Record<string, number>;
}

export interface GPUMetrics {
  allocated: number | null;
  bad_pages: BadPages;
  clocks_hertz: Record<string, number>;
  cluster: string | null;
  compute_capability: string | null;
  containers: Container[];
  driver_version: string | null;
  errors: Record<string, number>;
  fabric: Fabric;
  fans: Fan[];
  faults: string[];
  firmware_version: string | null;
  id: string;
  index: number | null;
  instance: string;
  interconnects: Interconnect[];
  last_seen: string;
  memory: Memory;
  memory_banks: Record<string, number>;
  model: string | null;
  name: string | null;
  node: string;
  numa_node: number | null;
  parent: string | null;
  partition_profile: string | null;
  partitions: GPU[];
  pci_address: string | null;
  pcie: PCIe;
  pending_modes: string[];
  performance_state: number | null;
  power: Power;
  processes: Process[];
  recovery_action: string | null;
  remap_states: string[];
  remapped_rows: Record<string, number>;
  retired_pages: Record<string, number>;
  serial_number: string | null;
  status: string | null;
  temperature_margins_celsius: Record<string, number>;
  temperatures: Temperature[];
  throttle_seconds: Record<string, number>;
  throttled: string[];
  time: string;
  utilization: Utilization;
  vendor: string | null;
  xids: Record<string, number>;
}

export interface Health {
  generation: number;
  instance: string;
  nodes: number;
  status: string;
  time: string;
}

export interface History {
  id: string;
  metric: string;
  points: HistoryPoint[];
  unit: string;
}

export interface HistoryPoint {
  time: string;
  value: number | null;
}

export interface Info {
  available: boolean;
  clusters: Cluster[];
  drivers: Driver[];
  gpu_count: number;
  instance: string;
  node_count: number;
  sources: NodeSource[];
  time: string;
  vendors: string[];
}

export interface Interconnect {
  errors: Record<string, number>;
  links_down: number | null;
  links_up: number | null;
  received_bytes: number | null;
  transmitted_bytes: number | null;
  type: string;
}

export interface Memory {
  free_bytes: number | null;
  reserved_bytes: number | null;
  total_bytes: number | null;
  used_bytes: number | null;
  utilization: number | null;
}

export interface Metrics {
  gpus: GPU[];
  instance: string;
  next: string | null;
  summary: Summary;
  time: string;
  total: number;
}

export interface Node {
  cluster: string | null;
  drivers: Driver[];
  gpu_count: number | null;
  gpus: GPU[];
  host: string | null;
  interval_seconds: number | null;
  labels: Record<string, string>;
  last_seen: string;
  memory: Memory;
  missing: number | null;
  name: string;
  readable: boolean | null;
  sources: Source[];
  state: string;
  unmanaged: number | null;
}

export interface NodeList {
  items: Node[];
  next: string | null;
  time: string;
  total: number;
}

export interface NodeSource {
  cluster: string | null;
  name: string;
  node: string | null;
  readable: boolean;
  reasons: string[];
  vendor: string | null;
}

export interface PCIe {
  errors: Record<string, number>;
  generation: number | null;
  max_generation: number | null;
  max_width: number | null;
  port_errors: Record<string, number>;
  received_bytes: number | null;
  replays: number | null;
  transmitted_bytes: number | null;
  width: number | null;
}

export interface Power {
  energy_joules: number | null;
  limit_watts: number | null;
  max_limit_watts: number | null;
  utilization: number | null;
  watts: number | null;
}

export interface Problem {
  candidates?: string[];
  detail: string;
  instance: string;
  reasons?: string[];
  remedy: string;
  status: number;
  title: string;
  type: string;
}

export interface Process {
  batch_job: string | null;
  batch_system: string | null;
  cluster: string | null;
  command: string | null;
  command_line: string | null;
  container: string | null;
  container_id: string | null;
  container_name: string | null;
  decoder_utilization: number | null;
  encoder_utilization: number | null;
  gpu: string;
  gpu_index: number | null;
  memory_bytes: number | null;
  memory_controller_utilization: number | null;
  name: string | null;
  namespace: string | null;
  node: string;
  owner: string | null;
  pid: number;
  pod: string | null;
  pod_uid: string | null;
  slurm_account: string | null;
  slurm_job: string | null;
  slurm_partition: string | null;
  slurm_sluid: string | null;
  slurm_user: string | null;
  started: string | null;
  systemd_unit: string | null;
  type: string | null;
  user_id: string | null;
  utilization: number | null;
  workload: string | null;
  workload_kind: string | null;
}

export interface ProcessList {
  items: Process[];
  next: string | null;
  time: string;
  total: number;
}

export interface Source {
  name: string;
  readable: boolean;
  reasons: string[];
  vendor: string | null;
}

export interface Summary {
  by: string | null;
  cluster: string | null;
  failed: number;
  gpus: number;
  group: string | null;
  healthy: number;
  kind: string | null;
  memory: Memory;
  memory_utilization: number | null;
  namespace: string | null;
  node: string | null;
  nodes: number;
  power_limit_watts: number | null;
  power_watts: number | null;
  processes: number | null;
  stale: number;
  stale_nodes: number;
  temperature_celsius: number | null;
  unknown: number;
  unreadable_nodes: number;
  utilization: number | null;
}

export interface SummaryList {
  items: Summary[];
  next: string | null;
  time: string;
  total: number;
}

export interface Temperature {
  celsius: number | null;
  limits_celsius: Record<string, number>;
  sensor: string;
}

export interface Tile {
  cluster?: string;
  id: string;
  index: number | null;
  memory: number | null;
  model: string | null;
  namespace?: string;
  node: string;
  parent?: string;
  stale?: boolean;
  status: string | null;
  throttled?: boolean;
  utilization: number | null;
}

export interface Tiles {
  generation: number;
  gone: string[];
  tiles: Tile[];
  whole: boolean;
}

export interface Utilization {
  decoder: number | null;
  encoder: number | null;
  general: number | null;
  jpeg: number | null;
  memory_controller: number | null;
  optical_flow: number | null;
}

export interface Workload {
  cluster: string | null;
  energy_joules: number | null;
  gpus: string[];
  held: number | null;
  idle: number | null;
  idle_seconds: number | null;
  kind: string | null;
  memory_bytes: number | null;
  name: string;
  namespace: string | null;
  node: string | null;
  pods: number;
  power_watts: number | null;
  used: number;
}

export interface WorkloadList {
  items: Workload[];
  next: string | null;
  time: string;
  total: number;
}
