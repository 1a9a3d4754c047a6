// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// The forms of the API's answers: internal/view. Units are bytes, watts, joules, hertz, seconds, degrees Celsius, shares from 0 to 1.

export type Numbers = Record<string, number>;

export interface List<T> { time: string; total: number; next: string | null; items: T[] }

export interface Memory {
  total_bytes: number | null;
  used_bytes: number | null;
  reserved_bytes: number | null;
  free_bytes: number | null;
  utilization: number | null;
}

export interface Summary {
  by: string | null;
  group: string | null;
  cluster: string | null;
  nodes: number;
  gpus: number;
  healthy: number;
  failed: number;
  unknown: number;
  stale: number;
  unreadable_nodes: number;
  stale_nodes: number;
  memory: Memory;
  utilization: number | null;
  temperature_celsius: number | null;
  power_watts: number | null;
  power_limit_watts: number | null;
  processes: number | null;
}

export interface Source { name: string; vendor: string | null; readable: boolean; reasons: string[] }
export interface Driver { vendor: string; version: string }

export interface Node {
  name: string;
  host: string | null;
  cluster: string | null;
  state: "live" | "stale";
  readable: boolean | null;
  sources: Source[];
  last_seen: string;
  interval_seconds: number | null;
  drivers: Driver[];
  labels: Record<string, string>;
  gpu_count: number | null;
  missing: number | null;
  unmanaged: number | null;
  memory: Memory;
  gpus: GPU[];
}

export interface User {
  namespace: string | null;
  pod: string | null;
  container: string | null;
  container_id: string | null;
  container_name: string | null;
  workload_kind: string | null;
  workload: string | null;
  slurm_job: string | null;
  slurm_sluid: string | null;
  slurm_user: string | null;
  slurm_account: string | null;
  slurm_partition: string | null;
  batch_system: string | null;
  batch_job: string | null;
  systemd_unit: string | null;
}

export interface Container extends User {
  allocated: boolean | null;
  resource: string | null;
  allocator: string | null;
  sharing: string | null;
  share: number | null;
  memory_bytes: number | null;
  memory_limit_bytes: number | null;
  utilization: number | null;
  power_watts: number | null;
  energy_joules: number | null;
  idle_seconds: number | null;
}

export interface Process extends User {
  pid: number;
  gpu: string;
  gpu_index: number | null;
  node: string;
  cluster: string | null;
  type: string | null;
  name: string | null;
  command: string | null;
  command_line: string | null;
  owner: string | null;
  started: string | null;
  memory_bytes: number | null;
  utilization: number | null;
  memory_controller_utilization: number | null;
  encoder_utilization: number | null;
  decoder_utilization: number | null;
}

export interface GPU {
  id: string;
  parent: string | null;
  node: string;
  cluster: string | null;
  index: number | null;
  name: string | null;
  vendor: string | null;
  model: string | null;
  pci_address: string | null;
  serial_number: string | null;
  driver_version: string | null;
  firmware_version: string | null;
  compute_capability: string | null;
  partition_profile: string | null;
  numa_node: number | null;
  last_seen: string;
  status: string | null;
  faults: string[];
  recovery_action: string | null;
  utilization: Record<"general" | "encoder" | "decoder" | "jpeg" | "optical_flow" | "memory_controller", number | null>;
  memory: Memory;
  temperatures: { sensor: string; celsius: number | null; limits_celsius: Numbers }[];
  temperature_margins_celsius: Numbers;
  power: {
    watts: number | null;
    limit_watts: number | null;
    max_limit_watts: number | null;
    utilization: number | null;
    energy_joules: number | null;
  };
  clocks_hertz: Numbers;
  performance_state: number | null;
  fans: { sensor: string; speed_ratio: number }[];
  throttled: string[];
  throttle_seconds: Numbers;
  pcie: {
    generation: number | null;
    max_generation: number | null;
    width: number | null;
    max_width: number | null;
    replays: number | null;
    transmitted_bytes: number | null;
    received_bytes: number | null;
    errors: Numbers;
    port_errors: Numbers;
  };
  interconnects: {
    type: string;
    transmitted_bytes: number | null;
    received_bytes: number | null;
    errors: Numbers;
    links_up: number | null;
    links_down: number | null;
  }[];
  errors: Numbers;
  xids: Numbers;
  remapped_rows: Numbers;
  retired_pages: Numbers;
  remap_states: string[];
  memory_banks: Numbers;
  bad_pages: { count: number | null; limit: number | null };
  fabric: { state: string | null; conditions: string[] };
  pending_modes: string[];
  allocated: number | null;
  containers: Container[];
  processes: Process[];
}

export interface GPUMetrics extends GPU { time: string; instance: string; partitions: GPU[] }

export interface Workload {
  cluster: string | null;
  node: string | null;
  namespace: string | null;
  kind: string | null;
  name: string;
  pods: number;
  held: number | null;
  used: number;
  idle: number | null;
  memory_bytes: number | null;
  power_watts: number | null;
  energy_joules: number | null;
  idle_seconds: number | null;
  gpus: string[];
}

export interface GPUEvent {
  uid: string;
  name: string;
  time: string;
  severity: string;
  body: string | null;
  node: string | null;
  cluster: string | null;
  gpu: string | null;
  attributes: Record<string, unknown>;
}

export interface History { id: string; metric: string; unit: string; points: { time: string; value: number | null }[] }

export interface Finding {
  kind: string;
  severity: "error" | "warning" | "info";
  cluster: string | null;
  node: string | null;
  gpu: string | null;
  index: number | null;
  what: string;
  detail: string;
  remedy: string;
}

export interface Tile {
  id: string;
  parent?: string;
  node: string;
  cluster?: string;
  index: number | null;
  model: string | null;
  namespace?: string;
  status: string | null;
  stale?: boolean;
  throttled?: boolean;
  utilization: number | null;
  memory: number | null;
}

export interface Tiles { generation: number; whole: boolean; tiles: Tile[]; gone: string[] }

export interface Problem { title: string; status: number; detail: string; remedy: string; reasons?: string[]; candidates?: string[] }
