// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { count, percent, place, text, watts } from "../core/format";
import { isHidden, useHidden } from "../core/hidden";
import { nodeLink } from "../core/route";
import type { Summary } from "../core/types";
import { filterOf, Filters } from "../parts/filters";
import { Meter } from "../parts/meter";
import { Paged } from "../parts/paged";
import { Badge } from "../parts/status";
import type { Column } from "../parts/table";

const COLUMNS: Column<Summary, "summary">[] = [
  { title: "Node", key: "group", cell: (s) => <a href={nodeLink(s.cluster, s.group ?? "")}>{text(s.group)}</a> },
  { title: "Cluster", key: "cluster", cell: (s) => text(s.cluster) },
  { title: "State", key: "health", cell: (s) => <NodeState s={s} /> },
  { title: "GPUs", key: "gpus", number: true, cell: (s) => count(s.gpus) },
  { title: "Failed", key: "failed", number: true, cell: (s) => count(s.failed) },
  { title: "Utilization", key: "utilization", number: true, cell: (s) => <Meter share={s.utilization} label="mean utilization" /> },
  { title: "Memory", key: "memory_utilization", number: true, cell: (s) => percent(s.memory.utilization) },
  { title: "Power", key: "power_watts", number: true, cell: (s) => watts(s.power_watts) },
  { title: "Processes", key: "processes", number: true, cell: (s) => count(s.processes) },
];

function NodeState({ s }: { s: Summary }) {
  const states: [number, string, string][] = [
    [s.unreadable_nodes, "degraded", "cannot be read"], [s.stale_nodes, "stale", "stale"], [s.failed, "failed", "GPU failed"],
    [s.predicted_failure, "predicted", "failure predicted"], [s.degraded, "degraded", "GPU degraded"], [s.throttled, "throttled", "throttled"],
  ];
  const wrong = states.filter(([n]) => n > 0);
  return (
    <span class="badges">
      {wrong.map(([, kind, word]) => <Badge key={word} kind={kind} word={word} />)}
      {wrong.length === 0 && (s.gpus === 0 ? <Badge kind="info" word="no GPU" /> : s.healthy === s.gpus ? <Badge kind="ok" word="ok" /> : <Badge kind="unknown" word="unknown" />)}
    </span>
  );
}

export function NodesView({ params }: { params: URLSearchParams }) {
  useHidden();
  return (
    <>
      <h1>Nodes</h1>
      <Filters names={[["cluster", "Cluster"]]} params={params} />
      <Paged
        route="summary"
        filter={{ by: "node", ...filterOf(["cluster"], params) }}
        sort={params.get("sort") ?? ""}
        caption="Nodes"
        columns={COLUMNS}
        id={(s) => place(s.cluster, s.group)}
        empty="No node is known."
        keep={(s) => s.stale_nodes === 0 || !isHidden(s.cluster, s.group)}
      />
    </>
  );
}
