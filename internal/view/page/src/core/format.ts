// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// How values are written. What was not read is a dash, never 0.

export const DASH = "–";
type Value = number | null | undefined;

const missing = (v: Value): v is null | undefined => v === null || v === undefined || Number.isNaN(v);
const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const count = (v: Value): string => (missing(v) ? DASH : plain.format(v));
export const percent = (v: Value): string => (missing(v) ? DASH : `${Math.round(v * 100)} %`);
export const celsius = (v: Value): string => (missing(v) ? DASH : `${Math.round(v)} °C`);
export const watts = (v: Value): string => (missing(v) ? DASH : scaled(v, 1000, ["W", "kW", "MW"]));
export const bytes = (v: Value): string => (missing(v) ? DASH : scaled(v, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]));
export const hertz = (v: Value): string => (missing(v) ? DASH : `${plain.format(v / 1e6)} MHz`);
export const joules = (v: Value): string => (missing(v) ? DASH : scaled(v / 3600, 1000, ["Wh", "kWh", "MWh", "GWh"]));
/** rate writes bytes a second. */
export const rate = (v: Value): string => (missing(v) ? DASH : `${bytes(v)}/s`);
export const text = (v: string | null | undefined): string => (v === null || v === undefined || v === "" ? DASH : v);

/** scaled writes a number with three digits and the unit that fits. */
function scaled(v: number, base: number, units: string[]): string {
  let i = 0;
  while (Math.abs(v) >= base && i < units.length - 1) {
    v /= base;
    i++;
  }
  const digits = i === 0 || Math.abs(v) >= 100 || Number.isInteger(v) ? 0 : Math.abs(v) >= 10 ? 1 : 2;
  return `${v.toFixed(digits)} ${units[i]}`;
}

/** hours writes a number of seconds as hours. */
export const hours = (v: Value): string => (missing(v) ? DASH : `${v < 36000 ? (v / 3600).toFixed(1) : plain.format(v / 3600)}`);

export function duration(seconds: Value): string {
  if (missing(seconds)) return DASH;
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d`;
}

/** clock writes a time of day, with the date where it is another day than now's. */
export function clock(iso: string | null): string {
  if (!iso) return DASH;
  const t = new Date(iso);
  const day = t.toDateString() === new Date().toDateString() ? "" : `${t.toLocaleDateString("sv")} `;
  return day + t.toLocaleTimeString("sv");
}

/** words writes an identifier of the data (hw_thermal_slowdown) as words. */
export const words = (id: string): string => id.replaceAll("_", " ");

/** place writes a node with its cluster. */
export const place = (cluster: string | null | undefined, node: string | null | undefined): string =>
  cluster && node ? `${cluster}/${node}` : (node ?? cluster ?? DASH);
