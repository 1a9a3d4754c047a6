// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { clock, place, text } from "../core/format";
import { gpuLink, nodeLink } from "../core/route";
import type { Event as GPUEvent } from "../core/types";
import { filterOf, Filters } from "../parts/filters";
import { Paged } from "../parts/paged";
import { Badge } from "../parts/status";
import type { Column } from "../parts/table";

const KIND: Record<string, string> = { ERROR: "error", FATAL: "error", WARN: "warning" };
export const severity = (e: GPUEvent) => <Badge kind={KIND[e.severity.replace(/\d$/, "")] ?? "info"} word={e.severity.toLowerCase()} />;

export const EVENT_COLUMNS: Column<GPUEvent, "events">[] = [
  { title: "Time", key: "time", cell: (e) => <time dateTime={e.time}>{clock(e.time)}</time> },
  { title: "Severity", key: "severity", cell: severity },
  { title: "Event", key: "name", cell: (e) => e.name },
  { title: "Node", key: "node", cell: (e) => (e.node ? <a href={nodeLink(e.cluster, e.node)}>{place(e.cluster, e.node)}</a> : text(e.cluster)) },
  { title: "GPU", key: "gpu", cell: (e) => (e.gpu ? <a href={gpuLink(e.gpu)}>{e.gpu}</a> : text(null)) },
  { title: "What", key: "body", cell: (e) => e.body ?? Object.entries(e.attributes).map(([k, v]) => `${k}=${String(v)}`).join(" ") },
];

/** EventsView lists the last events, the newest first. */
export function EventsView({ params }: { params: URLSearchParams }) {
  return (
    <>
      <h1>Events</h1>
      <Filters names={[["cluster", "Cluster"], ["node", "Node"], ["gpu", "GPU"]]} params={params} />
      <Paged
        route="events"
        filter={filterOf(["cluster", "node", "gpu"], params)}
        sort={params.get("sort") ?? ""}
        caption="Events"
        columns={EVENT_COLUMNS}
        id={(e) => e.uid}
        empty="There is no event yet."
      />
    </>
  );
}
