// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import type { Cell, Group } from "./group";

// The places of tiles and groups on the map of a large fleet, in CSS pixels.

export const TILE = 13;
const GAP = 2;
const STEP = TILE + GAP;
const LABEL = 16;
const PAD = 5; // within a group
const SPACE = 8; // between groups

export interface Box { group: Group; x: number; y: number; width: number; columns: number; first: number }
export interface Layout { boxes: Box[]; cells: Cell[]; width: number; height: number }

/** layout lets groups flow from left to right, rows below rows. A group is at most as wide as the map. */
export function layout(groups: Group[], width: number): Layout {
  const boxes: Box[] = [];
  const cells: Cell[] = [];
  const most = Math.max(4, Math.floor((width - 2 * PAD + GAP) / STEP));
  let x = 0;
  let y = 0;
  let row = 0; // the height of the present row
  for (const group of groups) {
    const n = group.cells.length;
    // Small groups are eight tiles wide, as most nodes have eight GPUs; large ones take the whole width.
    const columns = Math.min(most, n <= 64 ? 8 : most);
    const w = columns * STEP - GAP + 2 * PAD;
    const h = LABEL + Math.ceil(n / columns) * STEP + PAD;
    if (x > 0 && x + w > width) {
      x = 0;
      y += row + SPACE;
      row = 0;
    }
    boxes.push({ group, x, y, width: w, columns, first: cells.length });
    for (const cell of group.cells) cells.push(cell);
    x += w + SPACE;
    row = Math.max(row, h);
  }
  return { boxes, cells, width, height: y + row };
}

export const bottom = (b: Box): number => b.y + LABEL + Math.ceil(b.group.cells.length / b.columns) * STEP + PAD;

/** spot returns where the i-th tile of a box is. */
export const spot = (b: Box, i: number): [x: number, y: number] => [b.x + PAD + (i % b.columns) * STEP, b.y + LABEL + Math.floor(i / b.columns) * STEP];

/** boxOf returns the box of a tile by its number on the map. */
export function boxOf(l: Layout, index: number): Box | undefined {
  let low = 0;
  let high = l.boxes.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (l.boxes[middle]!.first <= index) low = middle;
    else high = middle - 1;
  }
  return l.boxes[low];
}

/** hit returns the number of the tile at a point, -1 where there is none. */
export function hit(l: Layout, x: number, y: number): number {
  for (const b of l.boxes) {
    if (x < b.x || x >= b.x + b.width || y < b.y + LABEL || y >= bottom(b)) continue;
    const column = Math.floor((x - b.x - PAD) / STEP);
    const i = Math.floor((y - b.y - LABEL) / STEP) * b.columns + column;
    return column >= 0 && column < b.columns && i >= 0 && i < b.group.cells.length ? b.first + i : -1;
  }
  return -1;
}

/** neighbour returns the tile to which a key moves. */
export function neighbour(l: Layout, index: number, key: string): number {
  const last = l.cells.length - 1;
  switch (key) {
    case "ArrowRight": return Math.min(last, index + 1);
    case "ArrowLeft": return Math.max(0, index - 1);
    case "Home": return 0;
    case "End": return last;
    case "ArrowDown": return below(l, index, 1);
    case "ArrowUp": return below(l, index, -1);
    default: return -1;
  }
}

/** below goes a row down or up: within the group, else to the nearest group there. */
function below(l: Layout, index: number, direction: 1 | -1): number {
  const b = boxOf(l, index);
  if (!b) return index;
  const within = index - b.first + direction * b.columns;
  if (within >= 0 && within < b.group.cells.length) return b.first + within;
  const [x] = spot(b, index - b.first);
  let best = index;
  let nearest = Infinity;
  for (const other of l.boxes) {
    const gap = (other.y - b.y) * direction;
    if (gap <= 0) continue;
    const column = Math.max(0, Math.min(other.columns - 1, Math.floor((x - other.x) / STEP)));
    const away = gap * 1000 + Math.abs(other.x + column * STEP - x);
    if (away >= nearest) continue;
    nearest = away;
    const rows = Math.ceil(other.group.cells.length / other.columns);
    const row = direction > 0 ? 0 : rows - 1;
    best = other.first + Math.min(other.group.cells.length - 1, row * other.columns + column);
  }
  return best;
}
