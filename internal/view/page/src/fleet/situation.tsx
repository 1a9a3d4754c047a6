// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { clock, count } from "../core/format";
import { isHidden, useHidden } from "../core/hidden";
import { useResource } from "../core/resource";
import { link } from "../core/route";
import type { FindingList } from "../core/types";
import { Badge } from "../parts/status";
import { Where } from "../views/problems";
import type { Cell } from "./group";

const ROWS = 3;

/** Situation shows what is wrong now, and who holds GPUs without using them: the worst of each. */
export function Situation({ all }: { all: Cell[] }) {
  useHidden();
  const findings = useResource<FindingList>(`problems?severity=warning&limit=${ROWS * 2}`).data;
  const wrong = (findings?.items ?? []).filter((f) => f.kind !== "stale" || !isHidden(f.cluster, f.node)).slice(0, ROWS);
  const idle = wasters(all);
  if (wrong.length + idle.length === 0) return null;
  return (
    <div class="situation">
      {wrong.length > 0 && (
        <section class="panel">
          <h2>Wrong now <a href={link("problems")}>All {count(findings?.total)}</a></h2>
          <ul class="plain">
            {wrong.map((f) => (
              <li key={[f.kind, f.cluster, f.node, f.gpu, f.source, f.vendor].join(" ")}>
                <Badge kind={f.severity} word={f.what} /> <Where f={f} />
                <span class="quiet">{f.begin && ` ${f.begin_known ? "since" : "before"} ${clock(f.begin)}`}{f.workloads.length > 0 && `, held by ${f.workloads.join(", ")}`}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {idle.length > 0 && (
        <section class="panel">
          <h2>Held and idle <a href={link("teams")}>All teams</a></h2>
          <ul class="plain">
            {idle.slice(0, ROWS).map(({ name, gpus, since }) => (
              <li key={name}>
                <a href={link("fleet", { show: "idle", text: name })}>{name ?? "no namespace"}</a> {count(gpus)} GPU{gpus === 1 ? "" : "s"}
                <span class="quiet">{since && `, the longest since ${clock(since)}`}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

interface Waster { name: string | undefined; gpus: number; since: string }

/** wasters counts idle devices by namespace, the most first. */
function wasters(all: Cell[]): Waster[] {
  const found = new Map<string | undefined, Waster>();
  for (const t of all.flatMap((c) => [c.tile, ...c.parts])) {
    if (!t.idle || t.stale) continue;
    const name = t.namespace ?? undefined;
    const w = found.get(name) ?? { name, gpus: 0, since: "" };
    found.set(name, w);
    w.gpus++;
    if (t.idle_since && (w.since === "" || t.idle_since < w.since)) w.since = t.idle_since;
  }
  return [...found.values()].sort((a, b) => b.gpus - a.gpus);
}
