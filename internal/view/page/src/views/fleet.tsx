// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { useMemo } from "preact/hooks";
import { count } from "../core/format";
import { isHidden, useHidden } from "../core/hidden";
import { useResource } from "../core/resource";
import { link, replaceParams } from "../core/route";
import type { FindingList, Info } from "../core/types";
import { BY, type By, cells, groups, matches, SHOW, type Show, shown, USE, type Use } from "../fleet/group";
import { Grid } from "../fleet/grid";
import { CellList } from "../fleet/list";
import { Machine, machineOf } from "../fleet/machine";
import { FleetMap } from "../fleet/map";
import { Situation } from "../fleet/situation";
import { useTiles } from "../fleet/store";
import { Answer } from "../parts/answer";
import { Choice } from "../parts/choice";
import { Icon } from "../parts/icon";
import { Badge } from "../parts/status";
import { Where } from "./problems";

/** Above this number of tiles the fleet is one drawing and a paged table, so that the page stays small. */
export const MOST_ELEMENTS = 500;
const LARGE = 120;

const SIGN: Partial<Record<Show, string>> = { failed: "failed", degraded: "degraded", throttled: "throttled", stale: "stale", unknown: "unknown" };
const choice = <T extends string>(all: readonly T[], value: string | null, otherwise: T): T => (all.includes(value as T) ? (value as T) : otherwise);

/** FleetView shows every GPU as a tile. */
export function FleetView({ params }: { params: URLSearchParams }) {
  const asked = params.get("by") ?? "";
  const known = useTiles(BY.includes(asked as (typeof BY)[number]) ? "" : asked);
  const hidden = useHidden();
  const all = useMemo(() => cells([...known.tiles.values()].filter((t) => !t.stale || !isHidden(t.cluster, t.node))), [known.tiles, hidden]);
  const ways = [...BY, ...known.labels];
  const by = choice<By>(ways, asked, all.length > MOST_ELEMENTS ? "cluster" : "node");
  const show = choice<Show>(SHOW, params.get("show"), "all");
  const metric = choice<Use>(USE, params.get("use"), "utilization");
  const text = params.get("text") ?? "";
  const found = useMemo(() => all.filter((c) => matches(c, text)), [all, text]);
  const visible = useMemo(() => found.filter((c) => shown(c, show)), [found, show]);
  const grouped = useMemo(() => groups(visible, by), [visible, by]);
  const machine = machineOf(all);
  if (!known.loaded) return <p class="empty" role="status">{known.error ? known.error.message : "Loading…"}</p>;
  return (
    <>
      <h1 class="hidden">Fleet</h1>
      <Situation all={all} />
      <div class="tools">
        <Choice name="Group by" values={ways} value={by} onChange={(v) => replaceParams({ by: v })} />
        <Choice name="Fill shows" values={USE} value={metric} onChange={(v) => replaceParams({ use: v === "utilization" ? null : v })} />
        <div class="chips" role="group" aria-label="Show only">
          {SHOW.map((s) => {
            const n = s === "all" ? found.length : found.filter((c) => shown(c, s)).length;
            if (s !== "all" && s !== show && n === 0) return null;
            return (
              <button key={s} type="button" class={`chip chip-${s}`} aria-pressed={s === show} onClick={() => replaceParams({ show: s === "all" ? null : s })}>
                {SIGN[s] && <Icon name={SIGN[s]} />}{s} <b>{count(n)}</b>
              </button>
            );
          })}
        </div>
        <label class="find">
          <span class="hidden">Find a node, model, namespace or GPU</span>
          <input type="search" placeholder="Find node, model, namespace" value={text} maxLength={253} spellcheck={false}
            onInput={(e) => replaceParams({ text: e.currentTarget.value })} />
        </label>
      </div>
      {visible.length > 0 && <Legend metric={metric} />}
      {visible.length === 0 ? <Nothing filtered={all.length > 0} /> : machine ? <Machine of={machine} groups={grouped} by={by} metric={metric} /> : visible.length <= MOST_ELEMENTS
        ? <Grid groups={grouped} by={by} metric={metric} large={visible.length <= LARGE} />
        : <><FleetMap groups={grouped} metric={metric} /><CellList cells={visible} /></>}
    </>
  );
}

function Nothing({ filtered }: { filtered: boolean }) {
  if (filtered) return <p class="empty">No GPU matches. <a href={link("fleet")}>Show all GPUs</a></p>;
  return <NoGPU />;
}

/** NoGPU says why no GPU is known: sources cannot be read, no node has sent anything, or the nodes have none. */
function NoGPU() {
  const info = useResource<Info>("info");
  const unreadable = useResource<FindingList>("problems?kind=unreadable&limit=5");
  if (unreadable.data && unreadable.data.total > 0) return (
    <section class="panel">
      <h2>No GPU is known <a href={link("problems")}>All problems</a></h2>
      {unreadable.data.items.map((f) => (
        <p key={[f.cluster, f.node, f.source, f.vendor].join(" ")}><Badge kind={f.severity} word={f.what} /> <Where f={f} /> {f.detail}. {f.remedy} <a href={f.runbook}>Runbook</a></p>
      ))}
    </section>
  );
  return (
    <Answer of={info}>
      {(i) => i.node_count === 0
        ? <p class="empty">No GPU is known: no node has sent data yet. A collector sends its first values within an interval after its start; if none come, its log says why.</p>
        : <p class="empty">No GPU is known: no GPU was found on <a href={link("nodes")}>{count(i.node_count)} {i.node_count === 1 ? "node" : "nodes"}</a>. If a machine has one, otelgpu doctor on the machine says what is missing.</p>}
    </Answer>
  );
}

/** The steps of the scale of each quantity. */
const PERCENT = ["0", "to 25 %", "to 50 %", "to 75 %", "to 100 %"];
const SCALE: Record<Use, string[]> = {
  utilization: PERCENT, memory: PERCENT, power: ["0", "to 25 % of the limit", "to 50 %", "to 75 %", "to 100 %"],
  temperature: ["0 °C", "to 25 °C", "to 50 °C", "to 75 °C", "above"], idle: ["not idle", "to 6 h", "to 12 h", "to 18 h", "longer"],
};

function Legend({ metric }: { metric: Use }) {
  return (
    <div class="legend" aria-label="Legend" role="group">
      <span>{metric}</span>
      {SCALE[metric].map((t, i) => <span key={t}><i class={`swatch use-${i}`} />{t}</span>)}
      {(["failed", "degraded", "predicted", "unknown", "stale", "throttled"] as const).map((k) => (
        <span key={k} class={`legend-${k}`}><Icon name={k} />{k === "predicted" ? "failure predicted" : k}</span>
      ))}
    </div>
  );
}
