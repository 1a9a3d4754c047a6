// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useState } from "preact/hooks";
import { BASE } from "./api";

export type Connection = "connecting" | "live" | "away";

/** Live follows the collector's stream of changes. There is one for the page. */
class Live {
  private readonly listeners = new Set<() => void>();
  private readonly watchers = new Set<() => void>();
  private source: EventSource | undefined;
  private opened = false;
  private retry = 1000;
  private retrying: ReturnType<typeof setTimeout> | undefined;
  private last = 0;
  connection: Connection = "connecting";
  /** session grows when the stream opens again: the collector may be another process than before, with generations of its own. */
  session = 0;

  /** onChange calls f after a change, and at least every 30 s, so that a stream that died silently goes unnoticed no longer. */
  onChange(f: () => void): () => void {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  }

  onConnection(f: () => void): () => void {
    this.watchers.add(f);
    return () => this.watchers.delete(f);
  }

  start(): void {
    if (!document.hidden) this.connect();
    setInterval(() => {
      if (Date.now() - this.last >= 30_000) this.changed();
    }, 5000);
    // A browser has six connections to a host: a page that nobody sees gives its own back, or a seventh tab would get no answer.
    document.addEventListener("visibilitychange", () => (document.hidden ? this.rest() : this.resume()));
    addEventListener("pagehide", () => this.rest());
    addEventListener("pageshow", () => this.resume());
  }

  private rest(): void {
    clearTimeout(this.retrying);
    this.retrying = undefined;
    this.source?.close();
    this.source = undefined;
  }

  private resume(): void {
    if (this.source !== undefined || this.retrying !== undefined) return;
    this.connect();
    this.changed();
  }

  private connect(): void {
    this.retrying = undefined;
    const source = new EventSource(`${BASE}stream`);
    this.source = source;
    source.onopen = () => {
      this.retry = 1000;
      if (this.opened) this.session++;
      this.opened = true;
      this.set("live");
    };
    source.addEventListener("change", () => {
      this.set("live");
      this.changed();
    });
    source.onerror = () => {
      // The browser ends the stream for good after an answer that is an error, and repeats otherwise, at its own pace.
      this.rest();
      this.set("away");
      this.retrying = setTimeout(() => this.connect(), this.retry);
      this.retry = Math.min(this.retry * 2, 15_000);
    };
  }

  private changed(): void {
    this.last = Date.now();
    if (!document.hidden) for (const f of [...this.listeners]) f();
  }

  private set(c: Connection): void {
    if (c === this.connection) return;
    this.connection = c;
    for (const f of [...this.watchers]) f();
  }
}

export const live = new Live();

export function useConnection(): Connection {
  const [c, set] = useState(live.connection);
  useEffect(() => {
    set(live.connection); // it may have changed between the drawing and this
    return live.onConnection(() => set(live.connection));
  }, []);
  return c;
}
