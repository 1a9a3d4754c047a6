// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { clock, count, DASH, duration, hertz, joules, percent, place, text, watts, words } from "../core/format";
import { useResource } from "../core/resource";
import { gpuLink, link, nodeLink } from "../core/route";
import type { EventList, GPU, GPUMetrics } from "../core/types";
import { byDesign } from "../core/state";
import { Answer } from "../parts/answer";
import { Facts, Panel } from "../parts/facts";
import { memoryText } from "../parts/gpu-text";
import { ContainerTable } from "../parts/container-table";
import { GrafanaLink } from "../parts/grafana";
import { Icon } from "../parts/icon";
import { Meter } from "../parts/meter";
import { ProcessTable } from "../parts/process-table";
import { Badge, Status } from "../parts/status";
import { Table } from "../parts/table";
import { EVENT_COLUMNS } from "./events";
import { Readings } from "./gpu-readings";

/** GPUView shows one GPU or partition: how it is, what it does, for whom, and what happened to it. */
export function GPUView({ id }: { id: string }) {
  const answer = useResource<GPUMetrics>(id === "" ? "" : `metrics/${encodeURIComponent(id)}`);
  return <Answer of={answer}>{(m) => <Body g={m} parts={m.partitions} />}</Answer>;
}

function Body({ g, parts }: { g: GPU; parts: GPU[] }) {
  return (
    <>
      <div class="title">
        <p class="crumbs"><a href={link("nodes")}>Nodes</a> / <a href={nodeLink(g.cluster, g.node)}>{place(g.cluster, g.node)}</a> / </p>
        <h1>{g.parent ? `Partition ${g.partition_profile ?? ""} ${g.index ?? ""}` : `GPU ${g.index ?? g.id}`}</h1>
        <span class="badges">
          <Status of={g} />
          {g.throttled.length > 0 && <Badge kind="throttled" word="throttled" />}
          {g.allocated !== null && <Badge kind="info" word={g.allocated > 0 ? "allocated" : "not allocated"} />}
        </span>
        <p class="subtitle">{text(g.model)} <code>{g.id}</code></p>
        <GrafanaLink g={g} from={Date.parse(g.last_seen) - 3_600_000} to={Date.parse(g.last_seen)} />
      </div>
      <Wrong g={g} />
      <Readings g={g} />
      {parts.length > 0 && <Partitions parts={parts} />}
      <section>
        <h2>Containers</h2>
        <ContainerTable rows={g.containers} />
      </section>
      <section>
        <h2>Processes</h2>
        <ProcessTable rows={g.processes.slice(0, 100)} where={false} />
        {g.processes.length > 100 && <p><a href={link("processes", { gpu: g.id, node: g.node, cluster: g.cluster ?? "-" })}>All {count(g.processes.length)} processes</a></p>}
      </section>
      <div class="panels">
        <Panel title="Clocks">
          <Facts rows={[...entries(g.clocks_hertz, hertz), ["performance state", g.performance_state === null ? DASH : `P${g.performance_state}`]]} />
        </Panel>
        <Panel title="Throttling">
          <Facts rows={[["now", g.throttled.length > 0 ? g.throttled.map(words).join(", ") : "not throttled"], ...entries(g.throttle_seconds, duration)]} />
        </Panel>
        <Panel title="PCIe"><Facts rows={[
          ["generation", `${text(g.pcie.generation?.toString())} of ${text(g.pcie.max_generation?.toString())}`],
          ["width", `×${text(g.pcie.width?.toString())} of ×${text(g.pcie.max_width?.toString())}`],
          ["replays", count(g.pcie.replays)],
          ...entries(g.pcie.errors, count, "errors, "),
          ...entries(g.pcie.port_errors, count, "errors of the port, "),
        ]} /></Panel>
        {g.interconnects.map((l) => <Panel key={l.type} title={`Links: ${l.type}`}><Facts rows={[...linkRows(l), ...entries(l.errors, count)]} /></Panel>)}
        {g.fabric.state !== null && (
          <Panel title="Fabric"><Facts rows={[
            ["state", words(g.fabric.state)],
            ["conditions", g.fabric.conditions.length > 0 ? g.fabric.conditions.map(words).join(", ") : "none"],
          ]} /></Panel>
        )}
        <Panel title="Memory errors">
          <Facts rows={[
            ...entries(g.errors, count),
            ...entries(g.remapped_rows, count, "remapped rows, "),
            ...entries(g.retired_pages, count, "retired pages, "),
            ["remapping", g.remap_states.length > 0 ? g.remap_states.map(words).join(", ") : DASH],
            ...entries(g.memory_banks, count, "banks, spare rows: "),
            ...(g.bad_pages.count === null ? [] : [["bad pages", badPages(g.bad_pages)] as [string, string]]),
          ]} />
        </Panel>
        <Panel title="XIDs">
          {Object.keys(g.xids).length === 0 ? <p class="empty">{g.vendor === "AMD" ? "AMD's driver reports no XIDs." : "No XID was counted."}</p> : <Facts rows={entries(g.xids, count, "XID ")} />}
        </Panel>
        <Panel title="Identity"><Facts rows={[
          ["name", text(g.name)], ["vendor", text(g.vendor)], ["PCI address", text(g.pci_address)], ["serial number", text(g.serial_number)],
          ["driver", text(g.driver_version)], ["firmware", text(g.firmware_version)], ["compute capability", text(g.compute_capability)],
          ["NUMA node", count(g.numa_node)], ["last seen", clock(g.last_seen)],
          ["physical GPU", g.parent ? <a href={gpuLink(g.parent)}>{g.parent}</a> : "this one"],
          ...(g.pending_modes.length === 0 ? [] : [["waits for a reset", g.pending_modes.map(words).join(", ")] as [string, string]]),
        ]} /></Panel>
        <Panel title="Engines"><Facts rows={[
          ["memory controller", percent(g.utilization.memory_controller)], ["encoder", percent(g.utilization.encoder)], ["decoder", percent(g.utilization.decoder)],
          ["JPEG", percent(g.utilization.jpeg)], ["optical flow", percent(g.utilization.optical_flow)],
          ...g.fans.map((f): [string, string] => [f.sensor, percent(f.speed_ratio)]),
          ["energy", joules(g.power.energy_joules)], ["highest power limit", watts(g.power.max_limit_watts)],
        ]} /></Panel>
      </div>
      <Events g={g} />
    </>
  );
}

function entries(of: Record<string, number>, write: (v: number) => string, prefix = ""): [string, string][] {
  return Object.entries(of).sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true })).map(([k, v]) => [prefix + words(k), write(v)]);
}

/** linkRows has how many links are up, where that is known. */
function linkRows(l: GPU["interconnects"][number]): [string, string][] {
  return l.links_up === null ? [] : [["links up", count(l.links_up)], ["links down", count(l.links_down)]];
}

function badPages(of: GPU["bad_pages"]): string {
  return of.limit === null ? count(of.count) : `${count(of.count)} of ${count(of.limit)} at most`;
}

/** Wrong says why the GPU is not well, and what the driver asks for. */
function Wrong({ g }: { g: GPU }) {
  const action = g.recovery_action !== null && g.recovery_action !== "none" ? g.recovery_action : null;
  const failed = g.status === "failed";
  if (!failed && g.faults.length === 0 && action === null && g.throttled.length === 0) return null;
  const mild = !failed && g.faults.length === 0 && action === null && g.throttled.every(byDesign);
  if (mild) return <p class="quiet">Clocks are throttled by design: {g.throttled.map(words).join(", ")}.</p>;
  const said = [
    g.faults.length > 0 && `Faults: ${g.faults.map(words).join(", ")}.`,
    action !== null && `The driver asks for: ${words(action)}.`,
    g.throttled.length > 0 && `Clocks are throttled: ${g.throttled.map(words).join(", ")}.`,
  ].filter((s) => s);
  return (
    <div class={`notice ${failed ? "notice-error" : "notice-warning"}`}>
      <Icon name={failed ? "failed" : "degraded"} />
      <p>{said.length > 0 ? said.join(" ") : "The GPU has failed; the driver names no fault."} <a href={link("problems", { node: g.node, cluster: g.cluster })}>What to do</a></p>
    </div>
  );
}

function Partitions({ parts }: { parts: GPU[] }) {
  return (
    <section>
      <h2>Partitions</h2>
      <Table caption="Partitions" rows={parts} id={(p) => p.id} empty="None." columns={[
        { title: "Partition", cell: (p) => <a href={gpuLink(p.id)}>{p.partition_profile ?? "partition"} {p.index ?? ""}</a> },
        { title: "State", cell: (p) => <Status of={p} /> },
        { title: "Utilization", number: true, cell: (p) => <Meter share={p.utilization.general} label="utilization" /> },
        { title: "Memory", number: true, cell: (p) => memoryText(p) },
        { title: "Processes", number: true, cell: (p) => count(p.processes.length) },
      ]} />
    </section>
  );
}

function Events({ g }: { g: GPU }) {
  const q = new URLSearchParams({ gpu: g.id, node: g.node, cluster: g.cluster ?? "-", limit: "20" });
  const events = useResource<EventList>(`events?${q}`);
  return (
    <section>
      <h2>Events</h2>
      <Answer of={events}>
        {(list) => <Table caption="Events" rows={list.items} id={(e) => e.uid} empty="There is no event of this GPU."
          columns={EVENT_COLUMNS.filter((c) => c.title !== "GPU" && c.title !== "Node").map((c) => ({ ...c, key: undefined }))} />}
      </Answer>
    </section>
  );
}
