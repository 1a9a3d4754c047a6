// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { query } from "../core/api";
import { celsius, hertz, percent, rate, watts, words } from "../core/format";
import { useResource } from "../core/resource";
import type { EventList, Event as GPUEvent, GPU, History } from "../core/types";
import { Answer } from "../parts/answer";
import { Chart, ChartTable, isMark, type Quantity, type Range, RANGES } from "../parts/chart";
import { Choice } from "../parts/choice";
import { GrafanaLink } from "../parts/grafana";
import { core, lowest, memoryText } from "../parts/gpu-text";

/** Readings are the main quantities of a GPU: now, in the last hour, and their limits. */
export function Readings({ g }: { g: GPU }) {
  const hot = core(g);
  const hottest = lowest(hot?.limits_celsius ?? {});
  // Margins are about the hottest spot, which is hotter than the sensor: a line at the sensor's limit would show more room than there is.
  const limit = Object.keys(g.temperature_margins_celsius).length > 0 ? null : hottest;
  const domain = "graphics" in g.clocks_hertz ? "graphics" : "sm";
  const fastest = g.clock_limits_hertz[domain] ?? null;
  const list = useResource<EventList>(`events${query({ gpu: g.id, ...scope(g), since: RANGES["all kept"], limit: 200 })}`);
  const events = useMemo(() => list.data?.items.filter(isMark) ?? [], [list.data]);
  const of = { g, events };
  return (
    <div class="readings">
      <Reading {...of} name="Utilization" metric="hw.gpu.utilization" value={percent(g.utilization.general)} top={1} write={percent} />
      <Reading {...of} name="Memory" metric="hw.gpu.memory.utilization" value={percent(g.memory.utilization)} more={memoryText(g)} top={1} write={percent} />
      <Reading {...of} name="Temperature" metric="hw.temperature" value={celsius(hot?.celsius)} top={hottest ?? 100} limit={limit} write={celsius}
        more={<Temperatures g={g} />} />
      <Reading {...of} name="Power" metric="hw.power" value={watts(g.power.watts)} top={g.power.limit_watts} limit={g.power.limit_watts} write={watts}
        more={`limit ${watts(g.power.limit_watts)}, ${percent(g.power.utilization)} of it`} />
      <Reading {...of} name="Clock" metric="hw.gpu.speed" value={hertz(g.clocks_hertz[domain] ?? null)} top={fastest} write={hertz}
        more={`${fastest === null ? "the limit is not reported: the scale ends at the highest value; " : `of ${hertz(fastest)}, `}${g.throttled.length > 0 ? `throttled: ${g.throttled.map(words).join(", ")}` : "not throttled"}`} />
      <Reading {...of} name="PCIe traffic" metric="hw.gpu.io" write={rate} binary more="sent and received" />
      {g.interconnects.map((l) => <Reading key={l.type} {...of} name={`${l.type} traffic`} metric="hw.gpu.interconnect.io" write={rate} binary more="sent and received" />)}
    </div>
  );
}

const scope = (g: GPU) => ({ node: g.node, cluster: g.cluster ?? "-" });

/** historyPath is the path of the API for the history of one metric of a GPU. */
const historyPath = (g: GPU, metric: string, since: string): string =>
  `devices/${encodeURIComponent(g.id)}/history${query({ metric, ...scope(g), since })}`;

interface Props extends Quantity {
  g: GPU;
  events: GPUEvent[];
  value?: string; // the last point of the history if it is not given
  more?: ComponentChildren;
}

function Reading({ g, events, value, more, ...of }: Props) {
  const [enlarged, enlarge] = useState(false);
  const history = useResource<History>(historyPath(g, of.metric, RANGES["1 hour"]));
  const points = history.data?.points ?? [];
  return (
    <section class="reading" data-reading={of.name.toLowerCase()}>
      <div class="reading-head">
        <h2>{of.name}</h2>
        {points.length > 1 && <button type="button" aria-label={`Enlarge ${of.name}`} onClick={() => enlarge(true)}>Enlarge</button>}
      </div>
      <p class="reading-value">{value ?? of.write(points[points.length - 1]?.value ?? null)}</p>
      <Chart of={of} series={[{ id: g.id, name: of.name, points }]} events={events} ticks={2} />
      <p class="reading-more">{more ?? " "}</p>
      {enlarged && <Enlarged g={g} of={of} events={events} onClose={() => enlarge(false)} />}
    </section>
  );
}

/** Enlarged shows a chart alone, with a choice of the time, and its values as a table. */
function Enlarged({ g, of, events, onClose }: { g: GPU; of: Quantity; events: GPUEvent[]; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [range, setRange] = useState<Range>("1 hour");
  const history = useResource<History>(historyPath(g, of.metric, RANGES[range]));
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="enlarged" aria-label={of.name} onClose={onClose}>
      <div class="reading-head">
        <h2>{of.name} of GPU {g.index ?? g.id}</h2>
        <Choice name="Time" values={Object.keys(RANGES) as Range[]} value={range} onChange={setRange} />
        <button type="button" onClick={() => dialog.current?.close()}>Close</button>
      </div>
      <Answer of={history}>
        {({ points }) => {
          const shown = { of, series: [{ id: g.id, name: of.name, points }], events };
          return (
            <>
              <Chart {...shown} ticks={5} />
              {points.length > 0 && <GrafanaLink g={g} from={Date.parse(points[0]!.time)} to={Date.parse(points[points.length - 1]!.time)} />}
              <ChartTable {...shown} />
            </>
          );
        }}
      </Answer>
    </dialog>
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
