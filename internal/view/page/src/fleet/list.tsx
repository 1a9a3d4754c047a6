// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useState } from "preact/hooks";
import { count, percent, place, text } from "../core/format";
import { gpuLink, nodeLink } from "../core/route";
import { Meter } from "../parts/meter";
import { Pager } from "../parts/paged";
import { Badge, Status } from "../parts/status";
import { type Column, Table } from "../parts/table";
import { type Cell, shown, use } from "./group";

const PAGE = 25;

const COLUMNS: Column<Cell>[] = [
  { title: "GPU", cell: (c) => <a href={gpuLink(c.tile.id)}>{c.tile.index ?? c.tile.id}</a> },
  { title: "Node", cell: (c) => <a href={nodeLink(c.tile.cluster, c.tile.node)}>{place(c.tile.cluster, c.tile.node)}</a> },
  { title: "Model", cell: (c) => text(c.tile.model) },
  { title: "State", cell: (c) => (
    <span class="badges">
      <Status of={c.tile} />
      {shown(c, "throttled") && <Badge kind="throttled" word="throttled" />}
    </span>
  ) },
  { title: "Utilization", number: true, cell: (c) => <Meter share={use(c, "utilization")} label="utilization" /> },
  { title: "Memory", number: true, cell: (c) => percent(use(c, "memory")) },
  { title: "Namespace", cell: (c) => text(c.tile.namespace) },
];

/** CellList has the same GPUs as the map, a page of 25 at a time. */
export function CellList({ cells }: { cells: Cell[] }) {
  const [page, turn] = useState(0);
  const last = Math.max(0, Math.ceil(cells.length / PAGE) - 1);
  const at = Math.min(page, last);
  useEffect(() => { if (page > last) turn(last); }, [page, last]);
  const rows = cells.slice(at * PAGE, (at + 1) * PAGE);
  return (
    <section class="cell-list">
      <h2>The same GPUs as a table</h2>
      <Table caption="GPUs" columns={COLUMNS} rows={rows} id={(c) => c.tile.id} empty="No GPU." />
      {cells.length > PAGE && (
        <Pager
          text={`${count(at * PAGE + 1)} to ${count(at * PAGE + rows.length)} of ${count(cells.length)}`}
          back={at > 0 ? () => turn(at - 1) : undefined}
          next={at < last ? () => turn(at + 1) : undefined}
        />
      )}
    </section>
  );
}
