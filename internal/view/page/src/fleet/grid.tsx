// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { count, percent } from "../core/format";
import { gpuLink, nodeLink } from "../core/route";
import { level, look } from "../core/state";
import type { Tile } from "../core/types";
import { Icon } from "../parts/icon";
import { type By, type Cell, describe, type Group, share, shortUse, shown, type Use, unit, use } from "./group";

/** more is what is shown beside a tile. */
interface Props { groups: Group[]; by: By; metric: Use; large: boolean; more?: (cell: Cell) => ComponentChildren }

/** Grid shows each GPU as an element. One tile is in the order of Tab; the arrow keys move between tiles. */
export function Grid({ groups, by, metric, large, more }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const current = useRef<string>("");
  const first = groups[0]?.cells[0]?.tile.id ?? "";
  const known = groups.some((g) => g.cells.some((c) => c.tile.id === current.current));
  const tabbable = known ? current.current : first;
  const onKey = (e: KeyboardEvent) => {
    const tiles = [...(box.current?.querySelectorAll<HTMLElement>("a.tile") ?? [])];
    const at = tiles.indexOf(e.target as HTMLElement);
    if (at < 0 || e.ctrlKey || e.altKey || e.metaKey) return;
    const to = target(tiles, at, e.key);
    if (!to) return;
    e.preventDefault();
    to.focus();
  };
  // The tile that has the focus is the one that Tab comes back to.
  const onFocus = (e: FocusEvent) => {
    const tile = (e.target as HTMLElement).closest<HTMLElement>("a.tile");
    if (!tile) return;
    current.current = tile.dataset.id ?? "";
    for (const t of box.current?.querySelectorAll<HTMLElement>('a.tile[tabindex="0"]') ?? []) t.tabIndex = -1;
    tile.tabIndex = 0;
  };
  return (
    <div ref={box} class={`groups${large ? " groups-large" : ""}${more ? " machine" : ""}`} onKeyDown={onKey} onFocusIn={onFocus}>
      {groups.map((g) => (
        <section class="group" key={g.key} data-group={g.key}>
          <h2>
            {by === "node" && g.cells[0] ? <a href={nodeLink(g.cells[0].tile.cluster, g.cells[0].tile.node)}>{g.name}</a> : g.name}
            <span class="group-facts">
              {count(g.cells.length)} GPU{g.cells.length === 1 ? "" : "s"} · {percent(g.utilization)}
              {g.failed > 0 && <strong> · {count(g.failed)} failed</strong>}
            </span>
          </h2>
          <ul class="tiles">
            {g.cells.map((c) => <li key={c.tile.id}><TileLink cell={c} metric={metric} tabbable={c.tile.id === tabbable} large={large} />{more?.(c)}</li>)}
          </ul>
        </section>
      ))}
    </div>
  );
}

function TileLink({ cell, metric, tabbable, large }: { cell: Cell; metric: Use; tabbable: boolean; large: boolean }) {
  const t = cell.tile;
  const { kind, word } = look(t);
  const full = use(cell, metric);
  const said = describe(cell, metric);
  const cls = ["tile", `tile-${kind}`, `use-${level(full) ?? "none"}`].join(" ");
  return (
    <a class={cls} href={gpuLink(t.id)} tabIndex={tabbable ? 0 : -1} data-id={t.id} title={said}>
      <span class="hidden">{said}</span>
      <span class="tile-signs" aria-hidden="true">
        <span class="tile-index">{t.index ?? ""}</span>
        {kind !== "ok" && <Icon name={kind} />}
        {shown(cell, "throttled") && <Icon name="throttled" />}
      </span>
      <span class="tile-use" aria-hidden="true">{kind === "failed" ? (large ? word : "") : shortUse(full, metric)}{kind !== "failed" && full !== null && large ? ` ${unit(metric)}` : ""}</span>
      {cell.parts.length > 0 ? <Parts parts={cell.parts} metric={metric} /> : <span class="tile-bar"><span style={{ width: `${Math.min(1, full ?? 0) * 100}%` }} /></span>}
    </a>
  );
}

function Parts({ parts, metric }: { parts: Tile[]; metric: Use }) {
  return (
    <span class="tile-parts">
      {parts.map((p) => <span key={p.id} class="tile-bar"><span style={{ width: `${Math.min(1, share(p, metric) ?? 0) * 100}%` }} /></span>)}
    </span>
  );
}

/** target returns the tile to which a key moves. Up and down go to the nearest tile of the next row on the screen. */
function target(tiles: HTMLElement[], at: number, key: string): HTMLElement | undefined {
  switch (key) {
    case "ArrowRight": return tiles[at + 1];
    case "ArrowLeft": return tiles[at - 1];
    case "Home": return tiles[0];
    case "End": return tiles[tiles.length - 1];
    case "ArrowDown": return vertical(tiles, at, 1);
    case "ArrowUp": return vertical(tiles, at, -1);
    default: return undefined;
  }
}

function vertical(tiles: HTMLElement[], at: number, direction: 1 | -1): HTMLElement | undefined {
  const from = tiles[at]!.getBoundingClientRect();
  let best: HTMLElement | undefined;
  let bestDistance = Infinity;
  for (const tile of tiles) {
    const to = tile.getBoundingClientRect();
    const down = (to.top - from.top) * direction;
    if (down < from.height / 2) continue;
    const distance = down * 1000 + Math.abs(to.left - from.left);
    if (distance < bestDistance) [best, bestDistance] = [tile, distance];
  }
  return best;
}
