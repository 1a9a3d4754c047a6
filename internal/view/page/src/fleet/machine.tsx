// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { bytes, clock, hertz, percent, text } from "../core/format";
import { useResource } from "../core/resource";
import type { GPU, HistoryList, Node, Tile } from "../core/types";
import { memoryText, powerText, temperatureText } from "../parts/gpu-text";
import { owner } from "../parts/process-table";
import { Sparkline } from "../parts/sparkline";
import { Grid } from "./grid";
import type { By, Cell, Group, Use } from "./group";

/** The most GPUs of which all values fit on one screen. */
const MOST = 16;

/** machineOf returns a tile of the only node; nothing for a fleet. */
export function machineOf(all: Cell[]): Tile | undefined {
  const first = all[0]?.tile;
  return first && all.length <= MOST && all.every(({ tile }) => tile.node === first.node && tile.cluster === first.cluster) ? first : undefined;
}

/** Machine shows the GPUs of one node with their values, what runs on them, and their utilization in the last 15 minutes. */
export function Machine({ of, groups, by, metric }: { of: Tile; groups: Group[]; by: By; metric: Use }) {
  const path = `nodes/${encodeURIComponent(of.cluster ?? "-")}/${encodeURIComponent(of.node)}`;
  const gpus = useResource<Node>(path).data?.gpus ?? [];
  const histories = useResource<HistoryList>(`${path}/history?metric=hw.gpu.utilization&since=15m`).data?.items;
  const more = ({ tile }: Cell) => {
    const g = gpus.find((g) => g.id === tile.id);
    return g && <Values g={g} parts={gpus.filter((p) => p.parent === g.id)} points={histories?.find((h) => h.id === g.id)?.points ?? []} />;
  };
  return <Grid groups={groups} by={by} metric={metric} large more={more} />;
}

function Values({ g, parts, points }: { g: GPU; parts: GPU[]; points: HistoryList["items"][number]["points"] }) {
  const all = [g, ...parts];
  const processes = all.flatMap((d) => d.processes).sort((a, b) => (b.memory_bytes ?? 0) - (a.memory_bytes ?? 0));
  const containers = all.flatMap((d) => d.containers);
  const top = processes[0];
  const holder = containers.find((c) => c.allocated) ?? containers[0] ?? top;
  const facts: [name: string, value: string][] = [
    ["Memory", memoryText(g)], ["Power", powerText(g)], ["Temperature", temperatureText(g)], ["Clock", hertz(g.clocks_hertz.graphics ?? g.clocks_hertz.sm)],
    ["Process", top ? `${top.name ?? top.command ?? top.pid}, ${bytes(top.memory_bytes)}${processes.length > 1 ? `, ${processes.length - 1} more` : ""}` : text(null)],
    ["Holder", text([holder?.namespace, owner(holder)].filter(Boolean).join("/"))],
  ];
  const read = points.filter((p) => p.value !== null);
  return (
    <>
      <Sparkline points={points} top={1} label={read.length === 0 ? "" :
        `Utilization from ${clock(points[0]!.time)} to ${clock(points[points.length - 1]!.time)}: lowest ${percent(Math.min(...read.map((p) => p.min ?? p.value!)))}, highest ${percent(Math.max(...read.map((p) => p.max ?? p.value!)))}`} />
      <dl>{facts.map(([name, value]) => <div key={name} title={value}><dt>{name}</dt> <dd>{value}</dd></div>)}</dl>
    </>
  );
}
