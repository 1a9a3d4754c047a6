// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useState } from "preact/hooks";
import { get, query } from "../core/api";
import { live } from "../core/live";
import type { Tile, Tiles } from "../core/types";

/** Known is what the page knows of all tiles. */
export interface Known { tiles: ReadonlyMap<string, Tile>; labels: string[]; loaded: boolean; error: Error | undefined }

/** The shortest time between two requests, in ms. With thousands of tiles something changes all the time. */
const PACE = 2000;
const SLOW = 5000;
const MANY = 2000;

/** useTiles keeps all tiles up to date, with the value of a label of their nodes. Only the first answer has them all; later ones have what changed. */
export function useTiles(label: string): Known {
  const [known, set] = useState<Known>({ tiles: new Map(), labels: [], loaded: false, error: undefined });
  useEffect(() => {
    const ended = new AbortController();
    let tiles = new Map<string, Tile>();
    let generation = 0;
    let session = live.session;
    let waiting = false; // a request runs, or ended a moment ago
    let again = false;
    const load = async () => {
      if (waiting) {
        again = true;
        return;
      }
      waiting = true;
      again = false;
      if (session !== live.session) generation = 0;
      session = live.session;
      try {
        const changed = await get<Tiles>(`tiles${query({ since: generation, label })}`, ended.signal);
        generation = changed.generation;
        if (changed.whole) tiles = new Map();
        for (const id of changed.gone) tiles.delete(id);
        for (const t of changed.tiles) tiles.set(t.id, t);
        set((k) => ({ tiles: new Map(tiles), labels: changed.whole ? (changed.labels ?? []) : k.labels, loaded: true, error: undefined }));
      } catch (e) {
        if (ended.signal.aborted) return;
        set((k) => ({ ...k, error: e as Error }));
      }
      setTimeout(() => {
        waiting = false;
        if (again && !ended.signal.aborted) void load();
      }, tiles.size > MANY ? SLOW : PACE);
    };
    void load();
    const stop = live.onChange(() => void load());
    return () => {
      stop();
      ended.abort();
    };
  }, [label]);
  return known;
}
