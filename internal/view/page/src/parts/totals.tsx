// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import type { ComponentChildren } from "preact";
import { useConnection } from "../core/live";
import { bytes, clock, count, DASH, watts } from "../core/format";
import { useHidden, useReturns } from "../core/hidden";
import { useResource } from "../core/resource";
import { link } from "../core/route";
import type { FindingList, Summary, SummaryList } from "../core/types";
import { Icon } from "./icon";
import { Meter } from "./meter";

/** Totals is the state of everything in one line, and whether it is recent. */
export function Totals() {
  const summary = useResource<SummaryList>("summary");
  const findings = useResource<FindingList>("problems?severity=warning&limit=1");
  const s = summary.data?.items[0];
  useReturns();
  const hidden = useHidden();
  const problems = findings.data && Math.max(0, findings.data.total - hidden);
  return (
    <>
      <dl class="totals">
        <Total name="GPUs" value={count(s?.gpus)} more={s ? nodesOf(s) : ""} href={link("fleet")} />
        <Total name="Healthy" value={count(s?.healthy)} more={s ? unhealthy(s) : ""} icon={s && s.healthy > 0 ? "ok" : undefined} />
        <Total name="Failed" value={count(s?.failed)} icon={s && s.failed > 0 ? "failed" : undefined} alarm={!!s && s.failed > 0} href={link("fleet", { show: "failed" })} />
        <Total name="Utilization" value={s ? <Meter share={s.utilization} label="mean utilization" /> : DASH} />
        <Total name="Memory" value={s ? <Meter share={s.memory.utilization} label="memory used" /> : DASH}
          more={s ? `${bytes(s.memory.used_bytes)} of ${bytes(s.memory.total_bytes)}` : ""} />
        <Total name="Power" value={watts(s?.power_watts)} more={s && s.power_limit_watts !== null ? `of ${watts(s.power_limit_watts)}` : ""} />
        <Total name="Problems" value={count(problems)} icon={problems ? "degraded" : undefined} alarm={!!problems} href={link("problems")} />
      </dl>
      <Recency at={summary.at} error={summary.error} summary={s} />
    </>
  );
}

const nodesOf = (s: Summary): string => {
  const nodes = `${count(s.nodes)} ${s.nodes === 1 ? "node" : "nodes"}`;
  return s.stale_nodes > 0 ? `on ${count(s.nodes - s.stale_nodes)} of ${nodes}` : `on ${nodes}`;
};

/** unhealthy counts the GPUs that are neither healthy nor failed. */
export const unhealthy = (s: Summary): string =>
  ([[s.throttled, "throttled"], [s.degraded, "degraded"], [s.predicted_failure, "failure predicted"], [s.stale, "stale"], [s.unknown, "unknown"]] as [number, string][])
    .filter(([n]) => n > 0).map(([n, word]) => `${count(n)} ${word}`).join(", ");

/** A total with a link has a text as its value: the name of the link says it. */
type TotalProps = { name: string; more?: string; icon?: string; alarm?: boolean } & ({ href: string; value: string } | { href?: undefined; value: ComponentChildren });

function Total({ name, value, more, icon, alarm, href }: TotalProps) {
  const body = <>{icon && <Icon name={icon} />}{value}</>;
  return (
    <div class={`total${alarm ? " total-alarm" : ""}`} data-total={name.toLowerCase()}>
      <dt>{name}</dt>
      <dd>
        {href ? <a class="total-value" href={href} aria-label={`${name}: ${value} ${more ?? ""}`.trim()}>{body}</a> : <span class="total-value">{body}</span>}
        {more && <span class="total-more">{more}</span>}
      </dd>
    </div>
  );
}

/** Recency says when what is shown is old: the collector is away, or nodes are silent. */
function Recency({ at, error, summary }: { at: number; error: Error | undefined; summary: Summary | undefined }) {
  const away = useConnection() === "away";
  const since = at > 0 ? ` The page shows what was known at ${clock(new Date(at).toISOString())}.` : "";
  if (away || error) {
    const why = error && !away ? error.message : "The collector does not answer; trying again.";
    return <div class="notice notice-error" role="alert"><Icon name="error" /><p>{why}{since}</p></div>;
  }
  if (summary && summary.gpus > 0 && summary.stale === summary.gpus)
    return <div class="notice notice-warning" role="status"><Icon name="stale" /><p>No node has sent data for some time: all values are old.</p></div>;
  if (summary && summary.stale > 0)
    return (
      <div class="notice notice-quiet" role="status">
        <Icon name="stale" /><p>{count(summary.stale)} of {count(summary.gpus)} GPUs are on nodes that are silent: their values are old.</p>
      </div>
    );
  return null;
}
