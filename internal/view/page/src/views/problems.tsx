// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { clock, count, duration, place, text } from "../core/format";
import { hide, isHidden, showAll, useHidden } from "../core/hidden";
import { gpuLink, nodeLink } from "../core/route";
import type { Finding } from "../core/types";
import { filterOf, Filters } from "../parts/filters";
import { Paged } from "../parts/paged";
import { Badge } from "../parts/status";
import type { Column } from "../parts/table";

const COLUMNS: Column<Finding, "problems">[] = [
  { title: "What", key: "severity", cell: (f) => <Badge kind={f.severity} word={f.what} /> },
  { title: "Where", key: "node", cell: (f) => <Where f={f} /> },
  { title: "Since", key: "begin", cell: (f) => <Since f={f} /> },
  { title: "Held by", key: "workloads", cell: (f) => text(f.workloads.join(", ")) },
  { title: "Why", key: "detail", cell: (f) => `${f.detail} ${f.consequence}` },
  { title: "What to do", key: "remedy", cell: (f) => <>{f.remedy} <a href={f.runbook}>Runbook</a>{f.kind === "stale" && <> <Hide f={f} /></>}</> },
];

const ENDED: Column<Finding, "problems">[] = [
  ...COLUMNS.slice(0, 3),
  { title: "End", key: "end", cell: (f) => clock(f.end) },
  ...COLUMNS.slice(3, 5),
];

function Since({ f }: { f: Finding }) {
  if (!f.begin || !f.begin_known) return <>{f.begin && "before "}{clock(f.begin)}</>;
  return <>{clock(f.begin)}<br /><span class="quiet">{duration(f.age_seconds)}</span></>;
}

export function Where({ f }: { f: Finding }) {
  if (!f.node) return <>cluster {f.cluster}</>;
  return (
    <>
      <a href={nodeLink(f.cluster, f.node)}>{place(f.cluster, f.node)}</a>
      {f.gpu && <> <a href={gpuLink(f.gpu)} title={f.gpu}>GPU {f.index ?? f.gpu}</a></>}
    </>
  );
}

/** Hide takes a silent node off the page of this browser. */
function Hide({ f }: { f: Finding }) {
  if (!f.node || !f.begin) return null;
  const { cluster, node, begin } = f;
  return <button type="button" class="hide" onClick={() => hide(cluster, node, begin)}>Hide this node</button>;
}

/** ProblemsView shows what is wrong and what to do, the worst first. */
export function ProblemsView({ params }: { params: URLSearchParams }) {
  const hidden = useHidden();
  return (
    <>
      <h1>Problems</h1>
      {hidden > 0 && <p class="quiet hidden-nodes">{count(hidden)} silent {hidden === 1 ? "node is" : "nodes are"} hidden in this browser. <button type="button" onClick={showAll}>Show</button></p>}
      <Filters names={[["cluster", "Cluster"], ["node", "Node"]]} params={params} />
      <Paged
        route="problems"
        filter={filterOf(["cluster", "node"], params)}
        sort={params.get("sort") ?? ""}
        caption="Problems"
        columns={COLUMNS}
        id={(f) => [f.kind, f.cluster, f.node, f.gpu, f.source, f.vendor].join(" ")}
        empty="No problem is known."
        keep={(f: Finding) => f.kind !== "stale" || !isHidden(f.cluster, f.node)}
      />
      <h2>Ended</h2>
      <Paged
        route="problems"
        filter={{ state: "ended", ...filterOf(["cluster", "node"], params) }}
        sort={params.get("ended") ?? "-end"}
        sortParam="ended"
        caption="Ended problems"
        columns={ENDED}
        id={(f) => [f.kind, f.cluster, f.node, f.gpu, f.source, f.vendor, f.end].join(" ")}
        empty="No problem has ended since the collector started."
      />
    </>
  );
}
