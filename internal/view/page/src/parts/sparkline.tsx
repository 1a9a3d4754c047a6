// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import type { History, HistoryPoint } from "../core/types";

export const W = 240;
export const H = 48;

interface Props {
  points: History["points"];
  limit?: number | null; // a line across
  top?: number | null; // the end of the scale where no value is higher
  label: string;
}

/** Sparkline draws a history from zero: the means as a line, minimum and maximum as a band. A null is a gap. */
export function Sparkline({ points, limit = null, top = null, label }: Props) {
  const read = points.filter((p) => p.value !== null);
  if (read.length < 2) return <p class="spark-none">No history yet</p>;
  const max = Math.max(...read.map((p) => p.max ?? p.value!), limit ?? 0, top ?? 0) || 1;
  const first = Date.parse(points[0]!.time);
  const span = Date.parse(points[points.length - 1]!.time) - first || 1;
  const y = (v: number) => (H - 1 - (Math.max(0, v) / max) * (H - 2)).toFixed(1);
  const { line, band } = trace(points, (p) => ((Date.parse(p.time) - first) / span) * W, y);
  return (
    <svg class="spark" viewBox={`0 0 ${W} ${H}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <path class="spark-band" d={band} vector-effect="non-scaling-stroke" />
      {limit !== null && <line class="spark-limit" x1="0" x2={W} y1={y(limit)} y2={y(limit)} vector-effect="non-scaling-stroke" />}
      <path class="spark-line" d={line} fill="none" vector-effect="non-scaling-stroke" />
    </svg>
  );
}

/** trace returns the paths of a history: the means as a line, minimum and maximum as a band. */
export function trace(points: History["points"], x: (p: HistoryPoint, i: number) => number, y: (v: number) => string) {
  let line = "";
  let band = "";
  let bottom = ""; // of the present piece of the band, backwards
  const close = () => {
    if (bottom !== "") band += `${bottom}Z`;
    bottom = "";
  };
  for (const [i, p] of points.entries()) {
    if (p.value === null) {
      close();
      continue;
    }
    const at = x(p, i).toFixed(1);
    const step = bottom === "" ? "M" : "L";
    line += `${step}${at} ${y(p.value)}`;
    band += `${step}${at} ${y(p.max ?? p.value)}`;
    bottom = `L${at} ${y(p.min ?? p.value)}${bottom}`;
  }
  close();
  return { line, band };
}
