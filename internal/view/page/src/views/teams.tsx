// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { clock, count, hours, joules, place, text, watts } from "../core/format";
import { link, replaceParams } from "../core/route";
import type { Team } from "../core/types";
import { Choice } from "../parts/choice";
import { filterOf, Filters } from "../parts/filters";
import { Paged } from "../parts/paged";
import { Badge } from "../parts/status";
import type { Column } from "../parts/table";

const BY = ["namespace", "slurm_account", "workload", "label"] as const;

/** gpusOf returns the filters of the view of GPUs that select a team's. */
function gpusOf(t: Team, label: string): Record<string, string | null> {
  const at = { cluster: t.cluster ?? "-", node: t.node };
  switch (t.by) {
    case "workload": return { ...at, namespace: t.namespace, workload_kind: t.kind, workload: t.name };
    case "label": return { ...at, label: `${label}=${t.name}` };
    default: return { ...at, [t.by]: t.name };
  }
}

function columns(label: string): Column<Team, "teams">[] {
  return [
    { title: "Team", key: "name", cell: (t) => {
      const name = <>{t.kind && <span class="quiet">{t.kind} </span>}{text(t.name)}</>;
      return t.name && t.gpus.length > 0 ? <a href={link("gpus", gpusOf(t, label))}>{name}</a> : name;
    } },
    { title: "Where", key: "cluster", cell: (t) => place(t.cluster, t.node) },
    { title: "Held", key: "held", number: true, cell: (t) => count(t.held) },
    { title: "Busy", key: "used", number: true, cell: (t) => count(t.used) },
    { title: "Idle", key: "idle", number: true, cell: (t) => t.idle ? <Badge kind="degraded" word={`${count(t.idle)} idle`} /> : count(t.idle) },
    { title: "GPU-hours held", key: "held_seconds", number: true, cell: (t) => hours(t.held_seconds) },
    { title: "GPU-hours idle", key: "idle_seconds", number: true, cell: (t) => hours(t.idle_seconds) },
    { title: "Power", key: "power_watts", number: true, cell: (t) => watts(t.power_watts) },
    { title: "Energy", key: "energy_joules", number: true, cell: (t) => joules(t.energy_joules) },
  ];
}

/** TeamsView shows what teams hold, use and leave idle, those that waste most first. */
export function TeamsView({ params }: { params: URLSearchParams }) {
  const by = BY.find((b) => b === params.get("by")) ?? "namespace";
  const label = by === "label" ? (params.get("label") ?? "team") : "";
  return (
    <>
      <h1>Teams</h1>
      <div class="tools">
        <Choice name="Team by" values={BY} value={by} onChange={(v) => replaceParams({ by: v, sort: null })} />
        {by === "label" && (
          <label>
            Label <input type="text" value={label} maxLength={253} spellcheck={false} autocomplete="off" onChange={(e) => replaceParams({ label: e.currentTarget.value.trim() })} />
          </label>
        )}
        <Filters names={[["cluster", "Cluster"]]} params={params} />
      </div>
      <Paged
        route="teams"
        filter={{ ...filterOf(["cluster"], params), by, label }}
        sort={params.get("sort") ?? "-idle_seconds"}
        fixed={["by", "label"]}
        caption="Teams"
        columns={columns(label)}
        id={(t) => [t.cluster, t.node, t.namespace, t.kind, t.name].join("/")}
        note={(rows) => rows[0] && <p class="quiet">GPU-hours and energy are counted since {clock(rows[0].since)}, when the collector started. A longer range is in your metrics backend.</p>}
        empty="No team holds or uses a GPU, as far as is known."
      />
    </>
  );
}
