// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// The state of a GPU as the page names and draws it. A state always has a word and a sign beside its colour.

export type Kind = "ok" | "degraded" | "predicted" | "failed" | "unknown" | "stale";

export interface Look { kind: Kind; word: string }

const LOOKS: Record<string, Look> = {
  ok: { kind: "ok", word: "ok" },
  degraded: { kind: "degraded", word: "degraded" },
  predicted_failure: { kind: "predicted", word: "failure predicted" },
  failed: { kind: "failed", word: "failed" },
};

/** look returns how a status is shown. A status that was not read is "unknown", and one of a silent node is "stale": neither is "ok". */
export function look({ status, stale }: { status: string | null; stale?: boolean }): Look {
  const known = status === null ? { kind: "unknown" as const, word: "unknown" } : (LOOKS[status] ?? { kind: "unknown" as const, word: status });
  return stale ? { kind: "stale", word: known.kind === "ok" ? "stale" : `stale, last ${known.word}` } : known;
}

/** byDesign reports whether a reason for throttling is how a GPU keeps its power limit, or its clocks equal to other GPUs'. */
export const byDesign = (reason: string): boolean => ["sw_power_cap", "sync_boost", "power"].includes(reason);

/** level returns the step of the scale of use: 0 idle, 1 to 4 by quarters; null where nothing was read. */
export const level = (share: number | null): 0 | 1 | 2 | 3 | 4 | null =>
  share === null ? null : share <= 0 ? 0 : (Math.min(4, Math.ceil(share * 4)) as 1 | 2 | 3 | 4);
