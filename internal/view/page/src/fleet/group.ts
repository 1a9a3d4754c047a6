// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { clock, DASH, percent, place } from "../core/format";
import { look } from "../core/state";
import type { Tile } from "../core/types";

export const BY = ["node", "cluster", "model", "namespace"] as const;
/** By is one of BY, or the name of a label of nodes. */
export type By = string;
export const SHOW = ["all", "failed", "degraded", "throttled", "stale", "unknown", "idle"] as const;
export type Show = (typeof SHOW)[number];
export const USE = ["utilization", "memory", "temperature", "power", "idle"] as const;
export type Use = (typeof USE)[number];
/** What a full tile stands for, beside percent. */
const FULL_CELSIUS = 100;
const FULL_HOURS = 24;

/** Cell is a GPU as the fleet shows it: a package with its partitions, or a partition whose package is not known. */
export interface Cell { tile: Tile; parts: Tile[] }

export interface Group { key: string; name: string; cells: Cell[]; failed: number; degraded: number; utilization: number | null }

const order = new Intl.Collator("en", { numeric: true }).compare;

/** cells puts partitions into their packages, in the order of cluster, node and index. */
export function cells(tiles: Iterable<Tile>): Cell[] {
  const all = new Map<string, Cell>();
  const parts: Tile[] = [];
  for (const tile of tiles) {
    if (tile.parent) parts.push(tile);
    else all.set(tile.id, { tile, parts: [] });
  }
  for (const part of parts) {
    const parent = all.get(part.parent as string);
    if (parent) parent.parts.push(part);
    else all.set(part.id, { tile: part, parts: [] });
  }
  const sorted = [...all.values()].sort(
    (a, b) =>
      order(a.tile.cluster ?? "", b.tile.cluster ?? "") || order(a.tile.node, b.tile.node) ||
      (a.tile.index ?? 1e9) - (b.tile.index ?? 1e9) || order(a.tile.id, b.tile.id),
  );
  for (const cell of sorted) cell.parts.sort((a, b) => (a.index ?? 1e9) - (b.index ?? 1e9) || order(a.id, b.id));
  return sorted;
}

/** use returns the share that a tile shows. As in the API's sums, the utilization of a divided GPU is the mean of its partitions that have it. */
export function use(cell: Cell, by: Use): number | null {
  const parts = mean(cell.parts.map((p) => share(p, by)));
  return by === "utilization" ? (parts ?? share(cell.tile, by)) : (share(cell.tile, by) ?? parts);
}

/** share returns how full a tile is, from 0 to 1: of 100 °C, or of 24 idle hours, if it shows those. */
export function share(t: Tile, by: Use): number | null {
  switch (by) {
    case "temperature": return t.temperature === undefined || t.temperature === null ? null : Math.max(0, t.temperature / FULL_CELSIUS);
    case "idle": return t.idle_since ? Math.max(0, (Date.now() - Date.parse(t.idle_since)) / 3.6e6 / FULL_HOURS) : 0;
    default: return t[by] ?? null;
  }
}

/** unit is the unit of the number on a tile. */
export const unit = (by: Use): string => ({ temperature: "°C", idle: "h" } as Partial<Record<Use, string>>)[by] ?? "%";

function mean(values: (number | null)[]): number | null {
  const read = values.filter((v): v is number => v !== null);
  return read.length === 0 ? null : read.reduce((a, b) => a + b, 0) / read.length;
}

export function shown(cell: Cell, show: Show): boolean {
  const t = cell.tile;
  switch (show) {
    case "all": return true;
    case "failed": return look(t).kind === "failed";
    case "degraded": return look(t).kind === "degraded" || look(t).kind === "predicted";
    case "throttled": return look(t).kind === "ok" && (t.throttled === true || cell.parts.some((p) => p.throttled === true));
    case "stale": return t.stale === true;
    case "unknown": return look(t).kind === "unknown";
    case "idle": return !t.stale && (t.idle === true || cell.parts.some((p) => p.idle === true));
  }
}

/** matches reports whether a word of a tile contains the text that an operator typed. */
export function matches(cell: Cell, text: string): boolean {
  if (text === "") return true;
  const t = cell.tile;
  const needle = text.toLowerCase();
  return [t.node, t.cluster, place(t.cluster, t.node), t.model, t.namespace, t.id, ...cell.parts.flatMap((p) => [p.id, p.namespace])]
    .some((v) => v?.toLowerCase().includes(needle));
}

const namespace = (cell: Cell): string | null | undefined => {
  const own = cell.tile.namespace;
  if (own) return own;
  const names = new Set(cell.parts.map((p) => p.namespace).filter((n) => n));
  return names.size === 1 ? [...names][0] : names.size > 1 ? "several namespaces" : undefined;
};

/** groups returns the groups with the most failed GPUs first, then those with the most degraded ones. */
export function groups(all: Cell[], by: By): Group[] {
  const found = new Map<string, Group>();
  for (const cell of all) {
    const t = cell.tile;
    const names: Record<string, string> = { node: place(t.cluster, t.node), cluster: t.cluster ?? "no cluster", model: t.model ?? "unknown model", namespace: namespace(cell) ?? "no namespace" };
    const name = names[by] ?? t.label ?? `no ${by}`;
    let g = found.get(name);
    if (!g) found.set(name, (g = { key: name, name, cells: [], failed: 0, degraded: 0, utilization: null }));
    g.cells.push(cell);
    if (shown(cell, "failed")) g.failed++;
    if (shown(cell, "degraded")) g.degraded++;
  }
  for (const g of found.values()) g.utilization = mean(g.cells.map((c) => use(c, "utilization")));
  return [...found.values()].sort((a, b) => b.failed - a.failed || b.degraded - a.degraded || order(a.name, b.name));
}

/** describe writes a GPU in one line: what a screen reader says and what the pointer shows. */
export function describe(cell: Cell, by: Use = "utilization"): string {
  const t = cell.tile;
  const said = [
    `${place(t.cluster, t.node)} GPU ${t.index ?? t.id}`,
    t.model ?? "unknown model",
    look(t).word,
    `utilization ${spoken(use(cell, "utilization"))}`,
    `memory ${spoken(use(cell, "memory"))}`,
  ];
  if (by === "temperature" || by === "power") said.push(`${by === "power" ? "power of the limit" : by} ${use(cell, by) === null ? "unknown" : `${shortUse(use(cell, by), by)} ${unit(by)}`}`);
  if (by === "idle" && t.idle_since) said.push(`idle since ${clock(t.idle_since)}`);
  if (cell.parts.length > 0) said.push(`${cell.parts.length} partitions`);
  if (shown(cell, "throttled")) said.push("throttled");
  if (t.namespace) said.push(`namespace ${t.namespace}`);
  return said.join(", ");
}

const spoken = (v: number | null): string => (v === null ? "unknown" : percent(v));
export const shortUse = (v: number | null, by: Use): string => (v === null ? DASH : String(Math.round(v * (by === "idle" ? FULL_HOURS : 100))));
