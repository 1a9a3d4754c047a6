// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useState } from "preact/hooks";

/** Route is where the page is: the part of the address behind #. The page at /docs is the route "api". */
export interface Route { view: string; params: URLSearchParams }

export function parse(): Route {
  const hash = location.hash.startsWith("#/") ? location.hash.slice(2) : "";
  const [view = "", query = ""] = hash.split("?", 2);
  if (view === "" && location.pathname.endsWith("/docs")) return { view: "api", params: new URLSearchParams() };
  return { view: view === "" ? "fleet" : view, params: new URLSearchParams(query) };
}

/** link returns the address of a view. Parameters without a value are left out. It is relative, so that the page works behind a prefix. */
export function link(view: string, params: Record<string, string | null | undefined> = {}): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) if (value) query.set(key, value);
  const text = query.toString();
  return `./#/${view === "fleet" && text === "" ? "" : view}${text === "" ? "" : `?${text}`}`;
}

export const gpuLink = (id: string): string => link("gpu", { id });
export const nodeLink = (cluster: string | null | undefined, node: string): string => link("node", { cluster, node });

/** useRoute returns the present route and draws again when it changes. */
export function useRoute(): Route {
  const [route, set] = useState(parse);
  useEffect(() => {
    const changed = () => set(parse());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

/** replaceParams changes parameters of the present view without a new entry in the browser's history. */
export function replaceParams(change: Record<string, string | null>): void {
  const { view, params } = parse();
  for (const [key, value] of Object.entries(change)) {
    if (value) params.set(key, value);
    else params.delete(key);
  }
  const query = params.toString();
  history.replaceState(null, "", `#/${view}${query === "" ? "" : `?${query}`}`);
  dispatchEvent(new Event("hashchange"));
}
