// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import type { ComponentChildren } from "preact";
import { celsius, clock, hertz, percent, rate, watts, words } from "../core/format";
import { useResource } from "../core/resource";
import type { GPU, History } from "../core/types";
import { core, lowest, memoryText } from "../parts/gpu-text";
import { Sparkline } from "../parts/sparkline";

/** Readings are the main quantities of a GPU: now, in the last hour, and their limits. */
export function Readings({ g }: { g: GPU }) {
  const hot = core(g);
  const hottest = lowest(hot?.limits_celsius ?? {});
  // Margins are about the hottest spot, which is hotter than the sensor: a line at the sensor's limit would show more room than there is.
  const limit = Object.keys(g.temperature_margins_celsius).length > 0 ? null : hottest;
  const domain = "graphics" in g.clocks_hertz ? "graphics" : "sm";
  const fastest = g.clock_limits_hertz[domain] ?? null;
  return (
    <div class="readings">
      <Reading g={g} name="Utilization" metric="hw.gpu.utilization" value={percent(g.utilization.general)} top={1} write={percent} />
      <Reading g={g} name="Memory" metric="hw.gpu.memory.utilization" value={percent(g.memory.utilization)} more={memoryText(g)} top={1} write={percent} />
      <Reading g={g} name="Temperature" metric="hw.temperature" value={celsius(hot?.celsius)} top={hottest ?? 100} limit={limit} write={celsius}
        more={<Temperatures g={g} />} />
      <Reading g={g} name="Power" metric="hw.power" value={watts(g.power.watts)} top={g.power.limit_watts} limit={g.power.limit_watts} write={watts}
        more={`limit ${watts(g.power.limit_watts)}, ${percent(g.power.utilization)} of it`} />
      <Reading g={g} name="Clock" metric="hw.gpu.speed" value={hertz(g.clocks_hertz[domain] ?? null)} top={fastest} write={hertz}
        more={`${fastest === null ? "the limit is not reported: the scale ends at the highest value; " : `of ${hertz(fastest)}, `}${g.throttled.length > 0 ? `throttled: ${g.throttled.map(words).join(", ")}` : "not throttled"}`} />
      <Reading g={g} name="PCIe traffic" metric="hw.gpu.io" write={rate} more="sent and received" />
      {g.interconnects.map((l) => <Reading key={l.type} g={g} name={`${l.type} traffic`} metric="hw.gpu.interconnect.io" write={rate} more="sent and received" />)}
    </div>
  );
}

interface Props {
  g: GPU;
  name: string;
  metric: string;
  value?: string; // the last point of the history where it is not given
  more?: ComponentChildren;
  limit?: number | null;
  top?: number | null;
  write: (v: number | null) => string;
}

function Reading({ g, name, metric, value, more, limit, top, write }: Props) {
  const history = useResource<History>(`devices/${encodeURIComponent(g.id)}/history?metric=${metric}`);
  const points = history.data?.points ?? [];
  const read = points.filter((p) => p.value !== null);
  const lowest = Math.min(...read.map((p) => p.min ?? p.value!));
  const highest = Math.max(...read.map((p) => p.max ?? p.value!));
  const said = read.length === 0 ? "" :
    `${name} from ${clock(points[0]!.time)} to ${clock(points[points.length - 1]!.time)}: lowest ${write(lowest)}, highest ${write(highest)}`;
  return (
    <section class="reading" data-reading={name.toLowerCase()}>
      <h2>{name}</h2>
      <p class="reading-value">{value ?? write(points[points.length - 1]?.value ?? null)}</p>
      <Sparkline points={points} limit={limit} top={top} label={said} />
      <p class="reading-more">{more ?? " "}</p>
    </section>
  );
}

function Temperatures({ g }: { g: GPU }) {
  const said = g.temperatures.map((t) => {
    const limits = Object.entries(t.limits_celsius).map(([k, v]) => `${k} ${celsius(v)}`);
    return `${t.sensor} ${celsius(t.celsius)}${limits.length > 0 ? ` (${limits.join(", ")})` : ""}`;
  });
  const margins = Object.entries(g.temperature_margins_celsius).map(([k, v]) => `${celsius(v)} below ${k}`);
  return <>{[...margins, ...said].join("; ") || "no sensor was read"}</>;
}
