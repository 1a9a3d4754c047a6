// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { bytes, celsius, DASH, watts } from "../core/format";
import type { GPU } from "../core/types";

// Values of a GPU beside their limits.

export const memoryText = (g: GPU): string =>
  g.memory.used_bytes === null && g.memory.total_bytes === null ? DASH : `${bytes(g.memory.used_bytes)} of ${bytes(g.memory.total_bytes)}`;

export const powerText = (g: GPU): string => (g.power.watts === null && g.power.limit_watts === null ? DASH : `${watts(g.power.watts)} of ${watts(g.power.limit_watts)}`);

/** core returns the hottest sensor of the chip itself. */
export function core(g: GPU): GPU["temperatures"][number] | undefined {
  const sensors = g.temperatures.filter((t) => t.celsius !== null && t.sensor !== "memory");
  return sensors.sort((a, b) => (b.celsius ?? 0) - (a.celsius ?? 0))[0];
}

export const temperatureText = (g: GPU): string => celsius(core(g)?.celsius);

/** lowest returns the lowest of the limits: the one that is reached first. */
export function lowest(limits: Record<string, number>): number | null {
  const values = Object.values(limits);
  return values.length === 0 ? null : Math.min(...values);
}
