// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { query } from "../core/api";
import { count } from "../core/format";
import { useResource } from "../core/resource";
import { parse, replaceParams } from "../core/route";
import type { Columns, ProcessList } from "../core/types";
import { Answer } from "./answer";
import { type Column, Table } from "./table";

const PAGE = 50;
/** The largest page of the API. */
const ALL = 1000;

/** List is a page of one of the API's lists. The list of GPUs is named gpus. */
type List<T> = Omit<ProcessList, "items"> & { items?: T[]; gpus?: T[] };

interface Props<T, R extends keyof Columns> {
  route: R; // of the API
  filter: Record<string, string | null>;
  sort: string;
  sortParam?: string; // the parameter of the page's address that contains the sort
  fixed?: string[]; // parameters of the page's address that are no filters
  caption: string;
  columns: Column<T, R>[];
  id: (row: T, i: number) => string;
  empty: string;
  keep?: (row: T) => boolean; // false: this browser hides the row
  note?: (rows: T[]) => ComponentChildren; // above the table
}

/** Paged is a list of the API, a page of 50 at a time, or of 1,000, to print it or to search it. */
export function Paged<T, R extends keyof Columns>({ route, filter, sort, sortParam = "sort", fixed = [], caption, columns, id, empty, keep = () => true, note }: Props<T, R>) {
  // The cursors of the pages before this one; the last is this page's.
  const [trail, setTrail] = useState<string[]>([]);
  const about = query({ ...filter, sort });
  const [size, setSize] = useState(PAGE);
  useEffect(() => setTrail([]), [about, size]);
  const answer = useResource<List<T>>(route + query({ ...filter, sort, limit: size, cursor: trail[trail.length - 1] }));
  return (
    <Answer of={answer}>
      {(list) => {
        const rows = list.items ?? list.gpus ?? [];
        const chosen = [...parse().params.keys()].filter((key) => !["sort", "ended", ...fixed].includes(key));
        return <>
          {note?.(rows)}
          <Table caption={caption} columns={columns} rows={rows.filter(keep)} id={id} sort={sort} onSort={(s) => replaceParams({ [sortParam]: s })} empty={chosen.length === 0 ? empty : <>
            Nothing matches the filter. <button type="button" onClick={() => replaceParams(Object.fromEntries(chosen.map((key) => [key, null])))}>Show all</button>
          </>} />
          {list.total > PAGE && (
            <Pager
              text={`${count(trail.length * size + 1)} to ${count(trail.length * size + rows.length)} of ${count(list.total)}`}
              back={trail.length > 0 ? () => setTrail(trail.slice(0, -1)) : undefined}
              next={list.next !== null ? () => setTrail([...trail, list.next as string]) : undefined}
              all={size === PAGE ? () => setSize(ALL) : undefined}
            />
          )}
        </>;
      }}
    </Answer>
  );
}

export function Pager({ text, back, next, all }: { text: string; back?: () => void; next?: () => void; all?: () => void }) {
  return (
    <nav class="pager" aria-label="Pages">
      <button type="button" disabled={!back} onClick={back}>Previous</button>
      <span role="status">{text}</span>
      <button type="button" disabled={!next} onClick={next}>Next</button>
      {all && <button type="button" onClick={all}>Show all</button>}
    </nav>
  );
}
