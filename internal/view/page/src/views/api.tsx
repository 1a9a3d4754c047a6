// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { count } from "../core/format";
import { type Document, type Operation } from "../core/openapi";
import { useResource } from "../core/resource";
import { Answer } from "../parts/answer";
import { OperationPart } from "./operation";

/** ApiView shows the API's description, in which every request can be tried. */
export function ApiView() {
  const doc = useResource<Document>("openapi.json");
  return <Answer of={doc}>{(d) => <Body doc={d} />}</Answer>;
}

function Body({ doc }: { doc: Document }) {
  const tags = new Map<string, [path: string, op: Operation][]>();
  for (const [path, item] of Object.entries(doc.paths)) {
    if (!item.get) continue;
    const tag = item.get.tags?.[0] ?? "other";
    tags.set(tag, [...(tags.get(tag) ?? []), [path, item.get]]);
  }
  const all = [...tags.values()].reduce((n, ops) => n + ops.length, 0);
  return (
    <div class="api">
      <h1>{doc.info.title} <span class="quiet">{doc.info.version}</span></h1>
      {doc.info.description && <p class="prose">{doc.info.description}</p>}
      <p class="prose">{count(all)} requests, all of them GET. The description itself: <a href="api/v1/gpu/openapi.json">openapi.json</a></p>
      {[...tags].map(([tag, ops]) => (
        <section key={tag}>
          <h2>{tag}</h2>
          {ops.map(([path, op]) => <OperationPart key={path} doc={doc} path={path} op={op} />)}
        </section>
      ))}
    </div>
  );
}
