// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useState } from "preact/hooks";
import { place } from "./format";
import { useResource } from "./resource";
import type { FindingList } from "./types";

// Silent nodes that this browser does not show, by place, with the time since when each is silent. A node that came back is shown again.

const KEY = "gpu_view.hidden";
const watchers = new Set<() => void>();
let hidden: Record<string, string> = stored();

function stored(): Record<string, string> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") as Record<string, string>;
  } catch {
    return {};
  }
}

function set(next: Record<string, string>): void {
  hidden = next;
  try {
    localStorage.setItem(KEY, JSON.stringify(next));
  } catch {
    // The nodes are hidden until the page is closed.
  }
  for (const f of [...watchers]) f();
}

export const isHidden = (cluster: string | null | undefined, node: string | null | undefined): boolean => place(cluster, node) in hidden;
export const hide = (cluster: string | null, node: string, since: string): void => set({ ...hidden, [place(cluster, node)]: since });
export const showAll = (): void => set({});

/** useHidden returns how many nodes are hidden, and draws again when that changes. */
export function useHidden(): number {
  const [, draw] = useState({});
  useEffect(() => {
    const changed = () => draw({});
    watchers.add(changed);
    return () => {
      watchers.delete(changed);
    };
  }, []);
  return Object.keys(hidden).length;
}

/** useReturns forgets hidden nodes that are no longer silent. There is one for the page. */
export function useReturns(): void {
  const silent = useResource<FindingList>(useHidden() > 0 ? "problems?kind=stale&limit=1000" : "").data;
  useEffect(() => {
    if (!silent || silent.next !== null) return;
    const since = new Map(silent.items.map((f) => [place(f.cluster, f.node), f.begin]));
    const kept = Object.entries(hidden).filter(([node, begin]) => since.get(node) === begin);
    if (kept.length < Object.keys(hidden).length) set(Object.fromEntries(kept));
  }, [silent]);
}
