// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import type { History } from "../core/types";

const W = 240;
const H = 48;

interface Props {
  points: History["points"];
  limit?: number | null; // a line across
  top?: number | null; // the end of the scale where no value is higher
  label: string;
}

/** Sparkline draws a history. A null is a gap in the line. */
export function Sparkline({ points, limit = null, top = null, label }: Props) {
  const values = points.map((p) => p.value).filter((v): v is number => v !== null);
  if (values.length < 2) return <p class="spark-none">No history yet</p>;
  const max = Math.max(...values, limit ?? 0, top ?? 0) || 1;
  const first = Date.parse(points[0]!.time);
  const span = Date.parse(points[points.length - 1]!.time) - first || 1;
  const y = (v: number) => H - 1 - (v / max) * (H - 2);
  let d = "";
  let area = "";
  let last = ""; // where the present piece of the line ends, empty in a gap
  const close = () => {
    if (last !== "") area += `L${last} ${H}Z`;
    last = "";
  };
  for (const p of points) {
    if (p.value === null) {
      close();
      continue;
    }
    const x = (((Date.parse(p.time) - first) / span) * W).toFixed(1);
    const at = `${x} ${y(p.value).toFixed(1)}`;
    d += `${last === "" ? "M" : "L"}${at}`;
    area += last === "" ? `M${x} ${H}L${at}` : `L${at}`;
    last = x;
  }
  close();
  return (
    <svg class="spark" viewBox={`0 0 ${W} ${H}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <path class="spark-area" d={area} />
      {limit !== null && <line class="spark-limit" x1="0" x2={W} y1={y(limit)} y2={y(limit)} vector-effect="non-scaling-stroke" />}
      <path class="spark-line" d={d} fill="none" vector-effect="non-scaling-stroke" />
    </svg>
  );
}
