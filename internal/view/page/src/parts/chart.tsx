// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { useMemo, useState } from "preact/hooks";
import { clock, DASH, words } from "../core/format";
import type { Event as GPUEvent, History, HistoryPoint } from "../core/types";
import { H, trace, W } from "./sparkline";
import { type Column, Table } from "./table";

/** Series is one line of a chart. */
export interface Series { id: string; name: string; points: History["points"] }

/** Quantity is what a chart shows, and its scale. */
export interface Quantity {
  name: string;
  metric: string;
  write: (v: number | null) => string;
  limit?: number | null; // a line across
  top?: number | null; // the end of the scale if no value is higher
  binary?: boolean; // multiples of 1024 are round values
}

interface Props {
  of: Quantity;
  series: Series[];
  events?: GPUEvent[];
  ticks: number; // at most about this many on each axis
}

/** The ranges of a chart, as the API's parameter since. No history is longer than 6 hours. */
export const RANGES = { "5 min": "5m", "1 hour": "1h", "all kept": "6h" };
export type Range = keyof typeof RANGES;

const NONE: GPUEvent[] = [];

/** The distances of the ticks of the time axis, in seconds. */
const STEPS = [10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200];

/** isMark reports whether an event is of the hardware: a state, an XID, a throttling. Pods and processes would be too many marks. */
export const isMark = (e: GPUEvent): boolean => e.name.startsWith("hw.");

/** Chart draws histories on common axes. The pointer and the arrow keys move a cursor, whose values stand below. */
export function Chart({ of, series, events = NONE, ticks }: Props) {
  const [cursor, moveTo] = useState<number | null>(null); // in ms, so that it stays at its time when points come
  const [chosen, choose] = useState<string | null>(null);
  const { limit = null, top = null, binary = false } = of;
  const drawn = useMemo(() => draw(series, events, limit, top), [series, events, limit, top]);
  if (drawn === null) return <p class="spark-none">No history yet</p>;
  const { times, first, last, max, lines, marks } = drawn;
  const share = (time: number) => (time - first) / (last - first);
  const at = cursor === null ? times.length - 1 : nearest(times, cursor);
  const said = sayPoint(drawn, of, at);
  const point = (e: PointerEvent) => {
    const box = (e.currentTarget as HTMLElement).getBoundingClientRect();
    moveTo(first + ((e.clientX - box.left) / box.width) * (last - first));
  };
  const leave = (e: Event) => {
    if (document.activeElement !== e.currentTarget) moveTo(null);
  };
  const key = (e: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at - 10, PageDown: at + 10, Home: 0, End: times.length - 1 };
    const next = steps[e.key];
    if (next === undefined) return;
    e.preventDefault();
    moveTo(times[Math.max(0, Math.min(times.length - 1, next))]!);
  };
  const y = (v: number) => height(v, max);
  const across = (time: number) => (share(time) * W).toFixed(1);
  return (
    <div class={`chart ${ticks > 2 ? "chart-large" : ""}`}>
      <div class="chart-values" aria-hidden="true">
        {valueTicks(max, ticks, binary).map((v) => <span key={v} style={{ top: `${(Number(y(v)) / H) * 100}%` }}>{of.write(v)}</span>)}
      </div>
      <div class="chart-plot" role="slider" tabIndex={0} aria-label={`${of.name}: point in time`} aria-valuemin={0} aria-valuemax={times.length - 1} aria-valuenow={at} aria-valuetext={said}
        onPointerMove={point} onPointerDown={point} onPointerLeave={leave} onKeyDown={key} onFocus={() => moveTo((c) => c ?? last)} onBlur={() => moveTo(null)}>
        <svg class="spark" viewBox={`0 0 ${W} ${H}`} preserveAspectRatio="none" aria-hidden="true">
          {series.length === 1 && <path class="spark-band" d={lines[0]!.band} vector-effect="non-scaling-stroke" />}
          {limit !== null && <line class="spark-limit" x1="0" x2={W} y1={y(limit)} y2={y(limit)} vector-effect="non-scaling-stroke" />}
          {lines.map((l) => <path key={l.id} class={`spark-line ${l.id === chosen ? "chart-chosen" : ""}`} data-id={l.id} d={l.line} fill="none" vector-effect="non-scaling-stroke" />)}
          {marks.map((m) => (
            <line key={m.event.uid} class={/ERROR|FATAL/.test(m.event.severity) ? "chart-mark chart-mark-error" : "chart-mark"} data-time={m.event.time} x1={across(m.time)} x2={across(m.time)} y1="0" y2={H} vector-effect="non-scaling-stroke">
              <title>{sayEvent(m.event)}</title>
            </line>
          ))}
          {cursor !== null && <line class="chart-cursor" x1={across(times[at]!)} x2={across(times[at]!)} y1="0" y2={H} vector-effect="non-scaling-stroke" />}
        </svg>
      </div>
      <div class="chart-times" aria-hidden="true">
        {timeTicks(first, last, ticks).map(([time, text]) => <span key={time} style={{ left: `${share(time) * 100}%` }}>{text}</span>)}
      </div>
      {series.length === 1 ? <p class="chart-said">{cursor === null ? " " : said}</p> : (
        <>
          <p class="chart-said">{clock(new Date(times[at]!).toISOString())}{eventsAt(drawn, at).map((e) => `; ${sayEvent(e)}`)}</p>
          <ul class="plain chart-list">
            {drawn.series.map((s) => (
              <li key={s.id}>
                <button type="button" aria-pressed={s.id === chosen} onClick={() => choose(s.id === chosen ? null : s.id)}>{s.name} <b>{sayMean(pointAt(s, times[at]!), of)}</b></button>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

/** ChartTable has the values of a chart as a table. It is made when it is opened. */
export function ChartTable({ of, series, events = NONE }: Omit<Props, "ticks">) {
  const [open, set] = useState(false);
  return (
    <details class="chart-table" onToggle={(e) => set(e.currentTarget.open)}>
      <summary>As a table</summary>
      {open && <Values of={of} series={series} events={events} />}
    </details>
  );
}

function Values({ of, series, events = NONE }: Omit<Props, "ticks">) {
  const drawn = draw(series, events, null, null);
  const value = (s: Timed, i: number, of: (p: HistoryPoint) => number | null) => {
    const p = pointAt(s, drawn!.times[i]!);
    return p === undefined ? null : of(p);
  };
  const only = series.length === 1 ? drawn?.series[0] : undefined;
  const columns: Column<number>[] = [{ title: "Time", cell: (i) => clock(new Date(drawn!.times[i]!).toISOString()) }];
  if (only) {
    columns.push(
      { title: "Mean", number: true, cell: (i) => of.write(value(only, i, (p) => p.value)) },
      { title: "Lowest", number: true, cell: (i) => of.write(value(only, i, (p) => p.min)) },
      { title: "Highest", number: true, cell: (i) => of.write(value(only, i, (p) => p.max)) },
    );
  } else for (const s of drawn?.series ?? []) columns.push({ title: s.name, number: true, cell: (i) => of.write(value(s, i, (p) => p.value)) });
  columns.push({ title: "Events", cell: (i) => eventsAt(drawn!, i).map(sayEvent).join("; ") || DASH });
  return <Table caption={`${of.name}, as a table`} columns={columns} rows={drawn?.times.map((_, i) => i) ?? []} id={(i) => String(i)} empty="No history yet" />;
}

interface Timed extends Series { times: number[] }
interface Drawn {
  series: Timed[];
  times: number[]; // of all series
  first: number; // the axis begins, in ms
  last: number; // and ends
  max: number; // end of the scale
  lines: { id: string; line: string; band: string }[];
  marks: { event: GPUEvent; time: number }[];
}

/** draw lays out a chart. It returns null if there is not enough to draw. */
function draw(series: Series[], events: GPUEvent[], limit: number | null, top: number | null): Drawn | null {
  const timed = series.map((s) => ({ ...s, times: s.points.map((p) => Date.parse(p.time)) }));
  const times = [...new Set(timed.flatMap((s) => s.times))].sort((a, b) => a - b);
  let max = Math.max(limit ?? 0, top ?? 0);
  let read = 0;
  for (const p of series.flatMap((s) => s.points)) {
    if (p.value === null) continue;
    read++;
    max = Math.max(max, p.max ?? p.value);
  }
  if (read < 2 || times.length < 2) return null;
  max ||= 1;
  const first = times[0]!;
  const marks = events.map((event) => ({ event, time: Date.parse(event.time) })).filter((m) => m.time >= first);
  const last = Math.max(times[times.length - 1]!, ...marks.map((m) => m.time)); // the newest event can be after the last point
  const lines = timed.map((s) => ({ id: s.id, ...trace(s.points, (_, i) => ((s.times[i]! - first) / (last - first)) * W, (v) => height(v, max)) }));
  return { series: timed, times, first, last, max, lines, marks };
}

const height = (v: number, max: number): string => (H - 1 - (Math.max(0, v) / max) * (H - 2)).toFixed(1);

function nearest(times: number[], time: number): number {
  let best = 0;
  for (const [i, t] of times.entries()) if (Math.abs(t - time) <= Math.abs(times[best]! - time)) best = i;
  return best;
}

/** pointAt returns the point that a time belongs to: a point is of the time until the next one. */
function pointAt(s: Timed, time: number): HistoryPoint | undefined {
  return s.points[s.times.findLastIndex((t) => t <= time)];
}

function eventsAt({ times, marks }: Drawn, i: number): GPUEvent[] {
  return marks.filter((m) => m.time >= times[i]! && m.time < (times[i + 1] ?? Infinity)).map((m) => m.event);
}

const sayEvent = (e: GPUEvent): string => `${clock(e.time)} ${e.body ?? words(e.name)}`;
const sayMean = (p: HistoryPoint | undefined, of: Quantity): string => (p === undefined || p.value === null ? "not read" : of.write(p.value));

function sayPoint(drawn: Drawn, of: Quantity, i: number): string {
  const time = drawn.times[i]!;
  const values = drawn.series.map((s) => {
    const p = pointAt(s, time);
    const range = drawn.series.length === 1 && p && p.min !== null && p.max !== null ? ` (${of.write(p.min)} to ${of.write(p.max)})` : "";
    return `${drawn.series.length === 1 ? "" : `${s.name} `}${sayMean(p, of)}${range}`;
  });
  return `${clock(new Date(time).toISOString())}: ${[values.join(", "), ...eventsAt(drawn, i).map(sayEvent)].join("; ")}`;
}

function valueTicks(max: number, count: number, binary: boolean): number[] {
  const rough = max / count;
  const power = binary ? 2 ** Math.ceil(Math.log2(rough)) : 10 ** Math.floor(Math.log10(rough));
  const step = binary ? power : [1, 2, 5, 10].find((n) => n * power >= rough * 0.8)! * power;
  return Array.from({ length: Math.floor(max / step + 0.001) + 1 }, (_, i) => i * step);
}

function timeTicks(first: number, last: number, count: number): [time: number, text: string][] {
  const step = 1000 * (STEPS.find((s) => s * 1000 >= (last - first) / count) ?? STEPS[STEPS.length - 1]!);
  const found: [number, string][] = [];
  for (let t = Math.ceil(first / step) * step; t <= last; t += step) found.push([t, new Date(t).toLocaleTimeString("sv").slice(0, step < 60_000 ? 8 : 5)]);
  return found;
}
