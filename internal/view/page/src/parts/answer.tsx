// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import type { ComponentChildren } from "preact";
import { Refused } from "../core/api";
import type { Resource } from "../core/resource";
import { Icon } from "./icon";

/** Answer shows an answer of the API, or why there is none. */
export function Answer<T>({ of, children }: { of: Resource<T>; children: (data: T) => ComponentChildren }) {
  if (of.error instanceof Refused) return <Refusal error={of.error} />;
  if (of.data !== undefined) return <>{children(of.data)}</>;
  if (of.error) return <p class="empty">{of.error.message}</p>;
  return <p class="empty" role="status">Loading…</p>;
}

/** Refusal shows an error of the API: what, which, what to do. */
function Refusal({ error }: { error: Refused }) {
  const p = error.problem;
  return (
    <div class="notice notice-error" role="alert">
      <Icon name="error" />
      <div>
        <strong>{p.title}</strong>
        <p>{p.detail}</p>
        {p.remedy && <p>{p.remedy}</p>}
        {p.reasons && p.reasons.length > 0 && <p>Reasons: {p.reasons.join(", ")}</p>}
        {p.candidates && p.candidates.length > 0 && <p>Candidates: {p.candidates.join(", ")}</p>}
      </div>
    </div>
  );
}
