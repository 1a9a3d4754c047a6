// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { useState } from "preact/hooks";
import { query } from "../core/api";
import { celsius, count, hertz, percent, rate, watts } from "../core/format";
import { useResource } from "../core/resource";
import type { EventList, HistoryList, Node } from "../core/types";
import { Answer } from "../parts/answer";
import { Chart, ChartTable, isMark, type Quantity, type Range, RANGES } from "../parts/chart";
import { Choice } from "../parts/choice";

const QUANTITIES: Quantity[] = [
  { name: "Utilization", metric: "hw.gpu.utilization", write: percent, top: 1 },
  { name: "Memory", metric: "hw.gpu.memory.utilization", write: percent, top: 1 },
  { name: "Temperature", metric: "hw.temperature", write: celsius, top: 100 },
  { name: "Power", metric: "hw.power", write: watts },
  { name: "Clock", metric: "hw.gpu.speed", write: hertz },
  { name: "PCIe traffic", metric: "hw.gpu.io", write: rate, binary: true },
];

/** More lines are not told apart. */
const MOST = 16;

/** NodeChart draws one quantity of a node's GPUs over each other. */
export function NodeChart({ n }: { n: Node }) {
  const [name, setName] = useState(QUANTITIES[0]!.name);
  const [range, setRange] = useState<Range>("1 hour");
  const of = QUANTITIES.find((q) => q.name === name)!;
  const gpus = n.gpus.filter((g) => !g.parent);
  const drawn = gpus.slice(0, MOST);
  const path = `nodes/${encodeURIComponent(n.cluster ?? "-")}/${encodeURIComponent(n.name)}`;
  const histories = useResource<HistoryList>(`${path}/history${query({ metric: of.metric, since: RANGES[range] })}`);
  const list = useResource<EventList>(`events${query({ node: n.name, cluster: n.cluster ?? "-", since: RANGES[range], limit: 200 })}`);
  if (drawn.length === 0) return null;
  const mixed = new Set(drawn.map((g) => g.vendor)).size > 1;
  const names = new Map(drawn.map((g) => [g.id, `GPU ${g.index ?? g.id}${mixed && g.vendor ? ` (${g.vendor})` : ""}`]));
  const events = list.data?.items.filter(isMark).map((e) => ({ ...e, body: `${names.get(e.gpu ?? "") ?? e.gpu ?? ""} ${e.body ?? e.name}` }));
  return (
    <section class="panel node-chart">
      <div class="reading-head">
        <h2>History</h2>
        <Choice name="Quantity" values={QUANTITIES.map((q) => q.name)} value={name} onChange={setName} />
        <Choice name="Time" values={Object.keys(RANGES) as Range[]} value={range} onChange={setRange} />
      </div>
      {gpus.length > MOST && <p class="quiet">The first {count(MOST)} of {count(gpus.length)} GPUs.</p>}
      <Answer of={histories}>
        {(all) => {
          const shown = { of, events, series: all.items.slice(0, MOST).map((h) => ({ id: h.id, name: names.get(h.id) ?? h.id, points: h.points })) };
          return <><Chart {...shown} ticks={5} /><ChartTable {...shown} /></>;
        }}
      </Answer>
    </section>
  );
}
