// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { bytes, clock, percent, place, text } from "../core/format";
import { gpuLink, link, nodeLink } from "../core/route";
import type { Container, Process } from "../core/types";
import { type Column, Table } from "./table";

/** owner returns who a process or a container belongs to, in one line. */
export function owner(u: Container | Process | undefined): string {
  if (!u) return "";
  const at = u.pod ? (u.container ? `${u.pod} / ${u.container}` : u.pod) : "";
  const job = jobOf(u);
  if (at || job) return [at, job].filter(Boolean).join(" / ");
  return u.systemd_unit ?? u.container ?? u.container_name ?? u.container_id?.slice(0, 12) ?? "";
}

/** jobOf names the job of a batch system, with whose it is where that is known; empty for who is none. */
function jobOf(u: Container | Process): string {
  const whose = [u.slurm_user, u.slurm_account].filter(Boolean).join(", ");
  const job = u.slurm_job ?? u.slurm_sluid;
  if (job) return `Slurm job ${job}${whose && ` (${whose})`}`;
  return u.batch_job ? `${u.batch_system ?? "job"} ${u.batch_job}` : "";
}

export const PROCESS_COLUMNS: Column<Process, "processes">[] = [
  { title: "PID", key: "pid", number: true, cell: (p) => p.pid },
  { title: "Name", key: "name", cell: (p) => <span title={p.command_line ?? p.command ?? undefined}>{text(p.name ?? p.command)}</span> },
  { title: "Node", key: "node", cell: (p) => <a href={nodeLink(p.cluster, p.node)}>{place(p.cluster, p.node)}</a> },
  { title: "GPU", key: "gpu_index", cell: (p) => <a href={gpuLink(p.gpu)} title={p.gpu}>{p.gpu_index ?? p.gpu}</a> },
  { title: "Namespace", key: "namespace", cell: (p) => p.namespace ? <a href={link("processes", { namespace: p.namespace })}>{p.namespace}</a> : text(null) },
  { title: "Pod, job or unit", key: "pod", cell: (p) => text(owner(p)) },
  { title: "Workload", key: "workload", cell: (p) => text(p.workload && (p.workload_kind ? `${p.workload_kind} ${p.workload}` : p.workload)) },
  { title: "Type", key: "type", cell: (p) => text(p.type) },
  { title: "User", key: "owner", cell: (p) => text(p.owner) },
  { title: "Memory", key: "memory_bytes", number: true, cell: (p) => bytes(p.memory_bytes) },
  { title: "SM", key: "utilization", number: true, cell: (p) => percent(p.utilization) },
  { title: "Mem. ctrl", key: "memory_controller_utilization", number: true, cell: (p) => percent(p.memory_controller_utilization) },
  { title: "Enc.", key: "encoder_utilization", number: true, cell: (p) => percent(p.encoder_utilization) },
  { title: "Dec.", key: "decoder_utilization", number: true, cell: (p) => percent(p.decoder_utilization) },
  { title: "Started", key: "started", cell: (p) => clock(p.started) },
];

export const processKey = (p: Process): string => `${p.cluster}/${p.node}/${p.gpu}/${p.pid}`;

/** ProcessTable lists processes; without where they run, as on the page of one node. */
export function ProcessTable({ rows, where }: { rows: Process[]; where: boolean }) {
  const columns = where ? PROCESS_COLUMNS : PROCESS_COLUMNS.filter((c) => c.title !== "Node");
  return <Table caption="Processes" columns={columns} rows={rows} id={processKey} empty="No process is known here." />;
}
