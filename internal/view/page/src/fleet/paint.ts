// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { percent } from "../core/format";
import { level, look } from "../core/state";
import { path } from "../parts/icon";
import { type Cell, type Group, shown, type Use, use } from "./group";
import { bottom, type Layout, spot, TILE } from "./layout";

/** draw puts the canvas over the part of the map that is on the screen, and paints that part; on paper it paints the whole map. */
export function draw(canvas: HTMLCanvasElement, box: HTMLElement, plan: Layout, metric: Use, marked: number): void {
  const place = box.getBoundingClientRect();
  const whole = matchMedia("print").matches;
  const top = whole ? 0 : Math.max(0, -place.top);
  const height = whole ? plan.height : Math.max(0, Math.min(plan.height, innerHeight - place.top) - top);
  const scale = devicePixelRatio || 1;
  canvas.style.top = `${top}px`;
  canvas.style.width = `${plan.width}px`;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(plan.width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  if (!pen) return;
  const colours = palette();
  pen.setTransform(scale, 0, 0, scale, 0, -top * scale);
  pen.font = `11px ${getComputedStyle(box).fontFamily}`;
  pen.textBaseline = "top";
  for (const b of plan.boxes) {
    if (bottom(b) < top || b.y > top + height) continue;
    pen.fillStyle = colours("surface");
    pen.fillRect(b.x, b.y, b.width, bottom(b) - b.y);
    title(pen, b.group, b.x + 5, b.y + 2, b.width - 10, colours);
    b.group.cells.forEach((cell, i) => {
      const [x, y] = spot(b, i);
      if (y + TILE >= top && y <= top + height) tile(pen, cell, x, y, metric, colours, b.first + i === marked);
    });
  }
}

type Palette = (name: string) => string;

/** palette returns the colours of the style sheet, so that the map follows the theme. */
function palette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const known = new Map<string, string>();
  return (name) => {
    let c = known.get(name);
    if (c === undefined) known.set(name, (c = style.getPropertyValue(`--${name}`).trim()));
    return c;
  };
}

function title(pen: CanvasRenderingContext2D, g: Group, x: number, y: number, width: number, colour: Palette): void {
  const facts = `${g.cells.length} · ${percent(g.utilization)}${g.failed > 0 ? ` · ${g.failed} failed` : ""}`;
  const room = width - pen.measureText(facts).width - 8;
  const wide = width > 200;
  const alarm = g.failed > 0 && !wide ? `${g.failed} ✕` : "";
  pen.fillStyle = colour("text");
  pen.fillText(shorten(pen, g.name, wide ? room : width - pen.measureText(alarm).width - 3), x, y);
  pen.fillStyle = g.failed > 0 ? colour("failed-text") : colour("quiet");
  if (!wide) return pen.fillText(alarm, x + width - pen.measureText(alarm).width, y);
  pen.fillText(facts, x + width - pen.measureText(facts).width, y);
}

function shorten(pen: CanvasRenderingContext2D, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text;
  let n = text.length - 1;
  // The end of a node's name is what differs.
  while (n > 1 && pen.measureText(`…${text.slice(-n)}`).width > width) n--;
  return `…${text.slice(-n)}`;
}

/** tile paints one GPU: its use as a level from the bottom, what is wrong with it as a sign instead. */
function tile(pen: CanvasRenderingContext2D, cell: Cell, x: number, y: number, metric: Use, colour: Palette, marked: boolean): void {
  const { kind } = look(cell.tile);
  const share = use(cell, metric);
  const step = level(share);
  const wrong = kind === "failed" || kind === "degraded" || kind === "predicted";
  pen.fillStyle = colour(!wrong ? "use-0" : kind === "failed" ? "failed" : "warning-soft");
  pen.fillRect(x, y, TILE, TILE);
  if (kind === "stale") {
    pen.fillStyle = colour("line");
    pen.fillRect(x, y, TILE, TILE);
  } else if (!wrong && step !== null && step > 0) {
    const h = Math.max(2, Math.round(Math.min(1, share ?? 0) * TILE));
    pen.fillStyle = colour(`use-${step}`);
    pen.fillRect(x, y + TILE - h, TILE, h);
  }
  if (cell.parts.length > 1) divide(pen, cell.parts.length, x, y, colour);
  if (kind === "unknown" || step === null) {
    pen.setLineDash([2, 2]);
    outline(pen, x, y, colour("quiet"));
    pen.setLineDash([]);
  }
  if (wrong && kind !== "failed") outline(pen, x, y, colour("warning"), 1);
  if (wrong) sign(pen, kind, x, y, colour(kind === "failed" ? "on-failed" : "warning-text"));
  else if (shown(cell, "throttled")) {
    // On a plate, because the level behind it may have any colour.
    pen.fillStyle = colour("surface");
    pen.fillRect(x + 2, y + 1, TILE - 4, TILE - 2);
    sign(pen, "throttled", x, y, colour("text"));
  }
  if (cell.tile.stale) {
    pen.setLineDash([1, 2]);
    outline(pen, x, y, colour("quiet"));
    pen.setLineDash([]);
  }
  if (marked) {
    pen.strokeStyle = colour("focus");
    pen.lineWidth = 2;
    pen.strokeRect(x - 1, y - 1, TILE + 2, TILE + 2);
  }
}

function outline(pen: CanvasRenderingContext2D, x: number, y: number, colour: string, width = 1): void {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.strokeRect(x + width / 2, y + width / 2, TILE - width, TILE - width);
}

function divide(pen: CanvasRenderingContext2D, n: number, x: number, y: number, colour: Palette): void {
  pen.fillStyle = colour("surface");
  for (let i = 1; i < Math.min(n, 4); i++) pen.fillRect(Math.round(x + (i * TILE) / Math.min(n, 4)), y, 1, TILE);
}

function sign(pen: CanvasRenderingContext2D, name: string, x: number, y: number, colour: string): void {
  pen.save();
  pen.translate(x, y);
  pen.scale(TILE / 16, TILE / 16);
  pen.strokeStyle = colour;
  pen.lineWidth = 2.2;
  pen.stroke(new Path2D(path(name)));
  pen.restore();
}

