// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { place } from "../core/format";
import { gpuLink, nodeLink } from "../core/route";
import type { Finding } from "../core/types";
import { Filters } from "../parts/filters";
import { Paged } from "../parts/paged";
import { Badge } from "../parts/status";
import type { Column } from "../parts/table";

const COLUMNS: Column<Finding, "problems">[] = [
  { title: "What", cell: (f) => <Badge kind={f.severity} word={f.what} /> },
  { title: "Where", key: "node", cell: (f) => <Where f={f} /> },
  { title: "Why", cell: (f) => f.detail },
  { title: "What to do", cell: (f) => f.remedy },
];

function Where({ f }: { f: Finding }) {
  if (!f.node) return <>cluster {f.cluster}</>;
  return (
    <>
      <a href={nodeLink(f.cluster, f.node)}>{place(f.cluster, f.node)}</a>
      {f.gpu && <> <a href={gpuLink(f.gpu)} title={f.gpu}>GPU {f.index ?? f.gpu}</a></>}
    </>
  );
}

/** ProblemsView shows what is wrong and what to do, the worst first. */
export function ProblemsView({ params }: { params: URLSearchParams }) {
  return (
    <>
      <h1>Problems</h1>
      <Filters names={[["cluster", "Cluster"], ["node", "Node"]]} params={params} />
      <Paged
        route="problems"
        filter={{ cluster: params.get("cluster"), node: params.get("node") }}
        sort={params.get("sort") ?? ""}
        caption="Problems"
        columns={COLUMNS}
        id={(f) => [f.kind, f.cluster, f.node, f.gpu, f.what].join(" ")}
        empty="No problem is known."
      />
    </>
  );
}
