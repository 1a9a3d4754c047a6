// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import type { GPU } from "../core/types";

/** TEMPLATE is the setting grafana_url. */
const TEMPLATE = document.querySelector<HTMLMetaElement>('meta[name="grafana"]')?.content ?? "";

/** GrafanaLink leads to the configured dashboard, for a GPU and a time in ms. */
export function GrafanaLink({ g, from, to }: { g: GPU; from: number; to: number }) {
  if (TEMPLATE === "") return null;
  const values: Record<string, string | number | null> = { cluster: g.cluster, node: g.node, gpu: g.id, name: g.name, from, to };
  const address = TEMPLATE.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
  return <a class="grafana" href={address} target="_blank" rel="noopener noreferrer">Grafana</a>;
}
