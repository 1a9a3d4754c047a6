// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { gpuLink } from "../core/route";
import { describe, type Group, type Use } from "./group";
import { boxOf, hit, layout, neighbour, spot, TILE } from "./layout";
import { draw } from "./paint";

/** FleetMap draws all GPUs of a large fleet into one canvas. Only its visible part exists. */
export function FleetMap({ groups, metric }: { groups: Group[]; metric: Use }) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(800);
  const [chosen, choose] = useState(-1);
  const [hovered, hover] = useState(-1);
  const plan = useMemo(() => layout(groups, width), [groups, width]);
  const marked = hovered >= 0 ? hovered : chosen;
  const cell = plan.cells[marked];

  useEffect(() => {
    const size = new ResizeObserver(() => setWidth(box.current?.clientWidth ?? 800));
    if (box.current) size.observe(box.current);
    return () => size.disconnect();
  }, []);
  useEffect(() => {
    let frame = 0;
    const paint = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => {
        if (canvas.current && box.current) draw(canvas.current, box.current, plan, metric, marked);
      });
    };
    paint();
    const events = ["scroll", "resize", "themechange"];
    for (const e of events) addEventListener(e, paint, { passive: true });
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", paint);
    // Paper does not wait for the next frame.
    const paper = matchMedia("print");
    const print = () => canvas.current && box.current && draw(canvas.current, box.current, plan, metric, marked);
    paper.addEventListener("change", print);
    return () => {
      cancelAnimationFrame(frame);
      for (const e of events) removeEventListener(e, paint);
      dark.removeEventListener("change", paint);
      paper.removeEventListener("change", print);
    };
  }, [plan, metric, marked]);

  const at = (e: MouseEvent) => {
    const r = box.current!.getBoundingClientRect();
    return hit(plan, e.clientX - r.left, e.clientY - r.top);
  };
  const open = (i: number) => {
    const found = plan.cells[i];
    if (found) location.assign(gpuLink(found.tile.id));
  };
  const onKey = (e: KeyboardEvent) => {
    if (e.key === "Enter") return open(chosen);
    if (e.ctrlKey || e.altKey || e.metaKey) return;
    const next = neighbour(plan, Math.max(0, chosen), e.key);
    if (next < 0) return;
    e.preventDefault();
    hover(-1);
    choose(next);
    const b = boxOf(plan, next);
    if (!b || !box.current) return;
    // The chosen tile comes into view, below what sticks to the top.
    const y = spot(b, next - b.first)[1] + box.current.getBoundingClientRect().top;
    if (y < 120) scrollBy(0, y - 120);
    else if (y + TILE > innerHeight - 40) scrollBy(0, y + TILE - innerHeight + 40);
  };
  return (
    <>
      <p class="map-line" role="status">{cell ? describe(cell, metric) : "Point at a tile, or choose one with the arrow keys; Enter opens it."}</p>
      <div
        ref={box}
        class="map"
        style={{ height: `${plan.height}px` }}
        role="application"
        aria-label={`Map of ${plan.cells.length} GPUs. Arrow keys choose a GPU, Enter opens it. The table below shows the same data.`}
        tabIndex={0}
        onKeyDown={onKey}
        onFocus={() => choose((c) => Math.max(0, c))}
        onMouseMove={(e) => hover(at(e))}
        onMouseLeave={() => hover(-1)}
        onClick={(e) => open(at(e))}
      >
        <canvas ref={canvas} />
      </div>
    </>
  );
}
