// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useState } from "preact/hooks";
import { get } from "./api";
import { live } from "./live";

/** Resource is an answer of the API that is kept up to date while it is shown. */
export interface Resource<T> {
  data: T | undefined; // the last answer; it stays when a later request fails
  error: Error | undefined; // why the last request failed
  at: number; // when the last answer came, in ms of this browser's clock
}

/** The shortest time between two requests for the same thing, in ms. */
const PACE = 2000;

/** useResource asks for a path now and after changes. An empty path asks for nothing. */
export function useResource<T>(path: string): Resource<T> {
  const [state, set] = useState<Resource<T> & { path: string }>({ path, data: undefined, error: undefined, at: 0 });
  useEffect(() => {
    if (path === "") return;
    const ended = new AbortController();
    let busy = false;
    let again = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      if (busy || timer !== undefined) {
        again = true;
        return;
      }
      busy = true;
      again = false;
      try {
        const data = await get<T>(path, ended.signal);
        if (!ended.signal.aborted) set({ path, data, error: undefined, at: Date.now() });
      } catch (e) {
        if (!ended.signal.aborted) set((s) => ({ path, data: s.path === path ? s.data : undefined, error: e as Error, at: s.at }));
      }
      busy = false;
      if (ended.signal.aborted) return;
      timer = setTimeout(() => {
        timer = undefined;
        if (again) void load();
      }, PACE);
    };
    void load();
    const stop = live.onChange(() => void load());
    return () => {
      stop();
      clearTimeout(timer);
      ended.abort();
    };
  }, [path]);
  return state.path === path ? state : { data: undefined, error: undefined, at: 0 };
}
