// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { celsius, clock, hertz, percent, place, text, watts, words } from "../core/format";
import { gpuLink, nodeLink } from "../core/route";
import type { GPU } from "../core/types";
import { filterOf, Filters } from "../parts/filters";
import { core } from "../parts/gpu-text";
import { Meter } from "../parts/meter";
import { Paged } from "../parts/paged";
import { owner } from "../parts/process-table";
import { Badge, Status } from "../parts/status";
import type { Column } from "../parts/table";

const COLUMNS: Column<GPU, "metrics">[] = [
  { title: "GPU", key: "index", cell: (g) => <a href={gpuLink(g.id)} title={g.id}>{g.parent ? `${g.partition_profile ?? "partition"} ${g.index ?? ""}` : `GPU ${g.index ?? g.id}`}</a> },
  { title: "Node", key: "node", cell: (g) => <a href={nodeLink(g.cluster, g.node)}>{place(g.cluster, g.node)}</a> },
  { title: "Model", key: "model", cell: (g) => text(g.model) },
  { title: "State", key: "status", cell: (g) => (
    <span class="badges">
      <Status of={g} />
      {g.throttled.length > 0 && <Badge kind="throttled" word={g.throttled.map(words).join(", ")} />}
    </span>
  ) },
  { title: "Utilization", key: "utilization", number: true, cell: (g) => <Meter share={g.utilization.general} label="utilization" /> },
  { title: "Memory", key: "memory_utilization", number: true, cell: (g) => percent(g.memory.utilization) },
  { title: "Temperature", key: "temperature_celsius", number: true, cell: (g) => celsius(core(g)?.celsius) },
  { title: "Power", key: "power_watts", number: true, cell: (g) => watts(g.power.watts) },
  { title: "Of its limit", key: "power_utilization", number: true, cell: (g) => percent(g.power.utilization) },
  { title: "Clock", key: "clock_graphics_hertz", number: true, cell: (g) => hertz(g.clocks_hertz.graphics) },
  { title: "Idle since", key: "idle_since", cell: (g) => clock(g.containers.map((c) => c.idle_since).filter((t) => t).sort()[0] ?? null) },
  { title: "Held or used by", key: "holder", cell: (g) => text(owner(g.containers[0] ?? g.processes[0])) },
];

const FILTERS: [string, string][] = [
  ["cluster", "Cluster"], ["node", "Node"], ["namespace", "Namespace"], ["workload_kind", "Kind"], ["workload", "Workload"], ["slurm_account", "Slurm account"], ["label", "Label"], ["status", "Status"],
];

/** GPUsView lists GPUs, also those of a team or a workload. */
export function GPUsView({ params }: { params: URLSearchParams }) {
  const keys = FILTERS.map(([key]) => key);
  return (
    <>
      <h1>GPUs</h1>
      <Filters names={FILTERS} params={params} />
      <Paged
        route="metrics"
        filter={filterOf(keys, params)}
        sort={params.get("sort") ?? ""}
        caption="GPUs"
        columns={COLUMNS}
        id={(g) => g.id}
        empty="No GPU matches."
      />
    </>
  );
}
