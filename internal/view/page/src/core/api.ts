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

/** How long an answer may make no progress, in ms. A long answer over a slow link takes longer, and is not asked for again. */
const SILENCE = 20_000;

/** get asks the API. It throws Refused or Away. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const silent = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const progress = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silent.abort(), SILENCE);
  };
  progress();
  const limit = silent.signal;
  let answer: Response;
  let body: string;
  try {
    answer = await fetch(BASE + path, { headers: { Accept: "application/vnd.gpu.own+json, application/json;q=0.9" }, signal: signal ? AbortSignal.any([signal, limit]) : limit });
    body = await read(answer, progress);
  } catch (e) {
    if (signal?.aborted) throw e;
    throw new Away("The collector does not answer.");
  } finally {
    clearTimeout(timer);
  }
  if (answer.ok) return JSON.parse(body) as T;
  const fallback: Shown = { title: answer.statusText, status: answer.status, detail: `HTTP status ${answer.status}`, remedy: "" };
  throw new Refused({ ...fallback, ...problem(body) });
}

/** read reads an answer, and calls progress with each part of it. */
async function read(answer: Response, progress: () => void): Promise<string> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    progress();
    text += part.value;
  }
  return text;
}

function problem(body: string): Partial<Problem> {
  try {
    return JSON.parse(body) as Problem;
  } catch {
    return {};
  }
}

/** query writes parameters; those without a value are left out. */
export function query(params: Record<string, string | number | null | undefined>): string {
  const q = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) if (value !== null && value !== undefined && value !== "") q.set(key, String(value));
  const text = q.toString();
  return text === "" ? "" : `?${text}`;
}
