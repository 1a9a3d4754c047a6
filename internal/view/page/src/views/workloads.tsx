// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { bytes, clock, count, hours, joules, place, text, watts } from "../core/format";
import { link } from "../core/route";
import type { Workload } from "../core/types";
import { filterOf, Filters } from "../parts/filters";
import { Paged } from "../parts/paged";
import { Badge } from "../parts/status";
import type { Column } from "../parts/table";

const COLUMNS: Column<Workload, "workloads">[] = [
  { title: "Workload", key: "name", cell: (w) => (
    <a href={link("gpus", { cluster: w.cluster ?? "-", node: w.node, namespace: w.namespace, workload_kind: w.kind, workload: w.name })}>{w.kind && <span class="quiet">{w.kind} </span>}{w.name}</a>
  ) },
  { title: "Namespace", key: "namespace", cell: (w) => w.namespace ? <a href={link("processes", { namespace: w.namespace })}>{w.namespace}</a> : text(null) },
  { title: "Where", key: "cluster", cell: (w) => place(w.cluster, w.node) },
  { title: "Pods", key: "pods", number: true, cell: (w) => count(w.pods) },
  { title: "Held", key: "held", number: true, cell: (w) => count(w.held) },
  { title: "Used", key: "used", number: true, cell: (w) => count(w.used) },
  { title: "Idle", key: "idle", number: true, cell: (w) => w.idle ? <Badge kind="degraded" word={`${count(w.idle)} idle`} /> : count(w.idle) },
  { title: "Idle since", key: "idle_since", cell: (w) => clock(w.idle_since) },
  { title: "Idle GPU-hours", key: "idle_seconds", number: true, cell: (w) => hours(w.idle_seconds) },
  { title: "Memory", key: "memory_bytes", number: true, cell: (w) => bytes(w.memory_bytes) },
  { title: "Power", key: "power_watts", number: true, cell: (w) => watts(w.power_watts) },
  { title: "Energy", key: "energy_joules", number: true, cell: (w) => joules(w.energy_joules) },
];

/** WorkloadsView shows what workloads hold, use, and leave idle. */
export function WorkloadsView({ params }: { params: URLSearchParams }) {
  const names: [string, string][] = [["cluster", "Cluster"], ["namespace", "Namespace"]];
  return (
    <>
      <h1>Workloads</h1>
      <p class="quiet">Held: allocated to the workload. Used: it has processes, memory or load there, and is not idle. Idle: held, but not used for some minutes. Idle GPU-hours: how long all its GPUs were held without use, in sum.</p>
      <Filters names={names} params={params} />
      <Paged
        route="workloads"
        filter={filterOf(names.map(([key]) => key), params)}
        sort={params.get("sort") ?? "idle_since"}
        caption="Workloads"
        columns={COLUMNS}
        id={(w) => [w.cluster, w.node, w.namespace, w.kind, w.name].join("/")}
        empty="No workload holds or uses a GPU, as far as is known."
      />
    </>
  );
}
