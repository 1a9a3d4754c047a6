// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { bytes, count, duration, percent, text, watts, words } from "../core/format";
import type { Container } from "../core/types";
import { owner } from "./process-table";
import { Badge } from "./status";
import { type Column, Table } from "./table";

const COLUMNS: Column<Container>[] = [
  { title: "Pod, job or unit", cell: (c) => text(owner(c)) },
  { title: "Namespace", cell: (c) => text(c.namespace) },
  { title: "Workload", cell: (c) => text(c.workload && (c.workload_kind ? `${c.workload_kind} ${c.workload}` : c.workload)) },
  { title: "Holds it", cell: (c) => (c.allocated === null ? text(null) : c.allocated ? <Badge kind="ok" word="yes" /> : "no") },
  { title: "Sharing", cell: (c) => text(c.sharing && (c.share === null ? words(c.sharing) : `${words(c.sharing)}, ${percent(c.share)}`)) },
  { title: "Resource", cell: (c) => text(c.resource) },
  { title: "Utilization", number: true, cell: (c) => percent(c.utilization) },
  { title: "Memory", number: true, cell: (c) => (c.memory_limit_bytes === null ? bytes(c.memory_bytes) : `${bytes(c.memory_bytes)} of ${bytes(c.memory_limit_bytes)}`) },
  { title: "Power", number: true, cell: (c) => watts(c.power_watts) },
  { title: "Idle", number: true, cell: (c) => duration(c.idle_seconds) },
];

export function ContainerTable({ rows }: { rows: Container[] }) {
  return <Table caption={`${count(rows.length)} containers`} columns={COLUMNS} rows={rows}
    id={(c, i) => `${c.container_id ?? c.container ?? ""} ${i}`} empty="No container is known to hold or use it." />;
}
