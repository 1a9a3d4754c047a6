// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { clock, count, duration, place, text, words } from "../core/format";
import { useResource } from "../core/resource";
import { gpuLink, link } from "../core/route";
import type { GPU, Node, ProcessList, Source } from "../core/types";
import { Answer } from "../parts/answer";
import { Facts, Panel } from "../parts/facts";
import { memoryText, temperatureText, powerText } from "../parts/gpu-text";
import { Icon } from "../parts/icon";
import { Meter } from "../parts/meter";
import { Paged } from "../parts/paged";
import { ProcessTable } from "../parts/process-table";
import { Badge, Status } from "../parts/status";
import type { Column } from "../parts/table";
import { NodeChart } from "./node-chart";

/** NodeView shows one machine: whether it can be read, its GPUs, what runs on them. */
export function NodeView({ params }: { params: URLSearchParams }) {
  const cluster = params.get("cluster");
  const name = params.get("node") ?? "";
  const node = useResource<Node>(`nodes/${encodeURIComponent(cluster ?? "-")}/${encodeURIComponent(name)}`);
  return <Answer of={node}>{(n) => <Body n={n} sort={params.get("sort") ?? ""} />}</Answer>;
}

const COLUMNS: Column<GPU, "metrics">[] = [
  { title: "GPU", key: "index", cell: (g) => <a class={g.parent ? "part" : undefined} href={gpuLink(g.id)}>{g.parent ? `${g.partition_profile ?? "partition"} ${g.index ?? ""}` : (g.index ?? g.id)}</a> },
  { title: "Model", key: "model", cell: (g) => text(g.model) },
  { title: "State", key: "health", cell: (g) => (
    <span class="badges">
      <Status of={g} />
      {g.throttled.length > 0 && <Badge kind="throttled" word={g.throttled.map(words).join(", ")} />}
      {g.faults.length > 0 && <span class="quiet">{g.faults.map(words).join(", ")}</span>}
    </span>
  ) },
  { title: "Utilization", key: "utilization", number: true, cell: (g) => <Meter share={g.utilization.general} label="utilization" /> },
  { title: "Memory", key: "memory_used_bytes", number: true, cell: (g) => memoryText(g) },
  { title: "Temperature", key: "temperature_celsius", number: true, cell: (g) => temperatureText(g) },
  { title: "Power", key: "power_watts", number: true, cell: (g) => powerText(g) },
  { title: "Processes", key: "processes", number: true, cell: (g) => count(g.processes.length) },
];

function Body({ n, sort }: { n: Node; sort: string }) {
  const about = { cluster: n.cluster ?? "-", node: n.name };
  return (
    <>
      <div class="title">
        <p class="crumbs"><a href={link("nodes")}>Nodes</a> / {n.cluster && <><a href={link("nodes", { cluster: n.cluster })}>{n.cluster}</a> / </>}</p>
        <h1>{n.name}</h1>
        <span class="badges">
          {n.state === "stale" && <Badge kind="stale" word={`stale since ${clock(n.last_seen)}`} />}
          {n.readable === false && <Badge kind="degraded" word="cannot be read" />}
          {n.readable !== false && n.state === "live" && <Badge kind="ok" word="live" />}
        </span>
        <a href={link("events", about)}>Events</a>
      </div>
      {n.readable === false && <Unreadable sources={n.sources} />}
      <div class="panels">
        <Panel title="Node">
          <Facts rows={[
            ["Cluster", text(n.cluster)],
            ["Host", text(n.host)],
            ["Last seen", clock(n.last_seen)],
            ["Interval", duration(n.interval_seconds)],
            ["Drivers", text(n.drivers.map((d) => `${d.vendor} ${d.version}`).join(", "))],
          ]} />
        </Panel>
        <Panel title="GPUs">
          <Facts rows={[
            ["Visible", count(n.gpu_count)],
            ["Missing", count(n.missing)],
            ["Unmanaged", count(n.unmanaged)],
            ["Memory", <Meter share={n.memory.utilization} label="memory" />],
          ]} />
        </Panel>
        <Panel title="Sources">
          {n.sources.length === 0 ? <p class="empty">No source reports whether it can read.</p> : <Sources n={n} />}
        </Panel>
      </div>
      {n.gpus.length === 0
        ? <p class="empty">{n.readable === false ? "Its GPUs are unknown: the node cannot be read." : "This node has no GPU."}</p>
        : <Paged route="metrics" filter={about} sort={sort} fixed={["cluster", "node"]} caption={`GPUs of ${place(n.cluster, n.name)}`} columns={COLUMNS} id={(g) => g.id} empty="" />}
      <NodeChart n={n} />
      <NodeProcesses about={about} />
      {Object.keys(n.labels).length > 0 && <Panel title="Labels" wide><Facts rows={Object.entries(n.labels).sort()} /></Panel>}
    </>
  );
}

function Sources({ n }: { n: Node }) {
  return (
    <ul class="plain">
      {n.sources.map((s) => {
        const [icon, state] = sourceState(n, s);
        return <li key={s.name + s.vendor}><Icon name={icon} /> {s.name}{s.vendor && ` (${s.vendor})`}: {state}</li>;
      })}
    </ul>
  );
}

/** sourceState returns the sign and the words of a source. One that finds no GPU of its vendor reads nothing: its driver may be missing, too. */
function sourceState(n: Node, s: Source): [string, string] {
  if (!s.readable) return ["failed", `cannot be read: ${s.reasons.map(words).join(", ") || "no reason given"}`];
  return n.gpus.some((g) => !s.vendor || g.vendor === s.vendor) ? ["ok", "readable"] : ["info", "no GPU found"];
}

function Unreadable({ sources }: { sources: Source[] }) {
  const reasons = sources.filter((s) => !s.readable).map((s) => `${s.name}: ${s.reasons.map(words).join(", ")}`);
  return <div class="notice notice-warning" role="status"><Icon name="degraded" /><p>The node cannot be read ({reasons.join("; ")}). <a href={link("problems")}>What to do</a></p></div>;
}

function NodeProcesses({ about }: { about: { cluster: string; node: string } }) {
  const q = new URLSearchParams({ ...about, sort: "-memory_bytes", limit: "50" });
  const processes = useResource<ProcessList>(`processes?${q}`);
  return (
    <section>
      <h2>Processes</h2>
      <Answer of={processes}>
        {(list) => (
          <>
            <ProcessTable rows={list.items} where={false} />
            {list.total > list.items.length && <p><a href={link("processes", about)}>All {count(list.total)} processes</a></p>}
          </>
        )}
      </Answer>
    </section>
  );
}
