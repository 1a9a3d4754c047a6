// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import type { Problem } from "./types";

/** Shown is what the page shows of a problem. */
type Shown = Omit<Problem, "type" | "instance">;

export const BASE = "api/v1/gpu/";

/** Refused is an answer of the API that is an error. */
export class Refused extends Error {
  constructor(readonly problem: Shown) {
    super(problem.detail || problem.title);
  }
}

/** Away is the lack of an answer: the collector, or the network to it, is away. */
export class Away extends Error {}

/** get asks the API. It throws Refused or Away. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const limit = AbortSignal.timeout(20_000);
  let answer: Response;
  try {
    answer = await fetch(BASE + path, { headers: { Accept: "application/vnd.gpu.own+json, application/json;q=0.9" }, signal: signal ? AbortSignal.any([signal, limit]) : limit });
  } catch (e) {
    if (signal?.aborted) throw e;
    throw new Away("The collector does not answer.");
  }
  if (answer.ok) return (await answer.json()) as T;
  const fallback: Shown = { title: answer.statusText, status: answer.status, detail: `HTTP status ${answer.status}`, remedy: "" };
  throw new Refused(await answer.json().then((p: Problem) => ({ ...fallback, ...p }), () => fallback));
}

/** query writes parameters; those without a value are left out. */
export function query(params: Record<string, string | number | null | undefined>): string {
  const q = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) if (value !== null && value !== undefined && value !== "") q.set(key, String(value));
  const text = q.toString();
  return text === "" ? "" : `?${text}`;
}
