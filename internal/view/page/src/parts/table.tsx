// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import type { ComponentChildren } from "preact";
import type { Columns } from "../core/types";

/** Column is one column of a table. The API sorts by the column that the key names. */
export interface Column<T, R extends keyof Columns = keyof Columns> {
  title: string;
  key?: Columns[R];
  number?: boolean;
  cell: (row: T) => ComponentChildren;
}

interface Props<T> {
  caption: string;
  columns: Column<T>[];
  rows: T[];
  id: (row: T, i: number) => string;
  sort?: string;
  onSort?: (sort: string) => void;
  empty: ComponentChildren;
}

export function Table<T>({ caption, columns, rows, id, sort = "", onSort, empty }: Props<T>) {
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  return (
    <div class="table-box" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((c) => (
              <Head key={c.title} column={c} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={id(row, i)}>
              {columns.map((c, k) =>
                k === 0 ? (
                  <th key={c.title} scope="row" class={c.number ? "number" : undefined}>{c.cell(row)}</th>
                ) : (
                  <td key={c.title} data-title={c.title} class={c.number ? "number" : undefined}>{c.cell(row)}</td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Head<T>({ column, sort, onSort }: { column: Column<T>; sort: string; onSort?: (sort: string) => void }) {
  const { title, key, number } = column;
  const cls = number ? "number" : undefined;
  if (!key || !onSort) return <th scope="col" class={cls}>{title}</th>;
  const up = sort === key;
  const down = sort === `-${key}`;
  // Numbers are sorted by size first: the largest matter most.
  const next = number ? (down ? key : `-${key}`) : up ? `-${key}` : key;
  return (
    <th scope="col" class={cls} aria-sort={up ? "ascending" : down ? "descending" : undefined}>
      <button type="button" class="sort" onClick={() => onSort(next)}>
        {title}
        <span class="arrow" aria-hidden="true">{up ? "▲" : down ? "▼" : ""}</span>
      </button>
    </th>
  );
}
