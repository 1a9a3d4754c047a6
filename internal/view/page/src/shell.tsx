// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useErrorBoundary, useRef } from "preact/hooks";
import { useConnection } from "./core/live";
import { link, type Route, useRoute } from "./core/route";
import { Search } from "./parts/search";
import { Totals } from "./parts/totals";
import { ThemeSwitch } from "./parts/theme";
import { ApiView } from "./views/api";
import { EventsView } from "./views/events";
import { FleetView } from "./views/fleet";
import { GPUView } from "./views/gpu";
import { GPUsView } from "./views/gpus";
import { NodeView } from "./views/node";
import { NodesView } from "./views/nodes";
import { ProblemsView } from "./views/problems";
import { ProcessesView } from "./views/processes";
import { TeamsView } from "./views/teams";
import { WorkloadsView } from "./views/workloads";

const VIEWS: [view: string, title: string][] = [
  ["fleet", "Fleet"], ["gpus", "GPUs"], ["nodes", "Nodes"], ["teams", "Teams"], ["workloads", "Workloads"], ["processes", "Processes"], ["problems", "Problems"], ["events", "Events"],
];
/** The views of one thing belong to a view of many. */
const PARENT: Record<string, string> = { gpu: "fleet", node: "nodes" };

/** NOTICE is what the collector's configuration says of everything that is shown, such as that the hardware is simulated. */
const NOTICE = document.querySelector<HTMLMetaElement>('meta[name="notice"]')?.content ?? "";

export function Shell() {
  const route = useRoute();
  const main = useRef<HTMLElement>(null);
  const place = `${route.view} ${route.params.get("id") ?? ""} ${route.params.get("cluster") ?? ""} ${route.params.get("node") ?? ""}`;
  const before = useRef(place);
  useEffect(() => {
    const title = [...VIEWS, ["api", "API"], ["gpu", "GPU"], ["node", "Node"]].find(([view]) => view === route.view)?.[1] ?? "Not found";
    document.title = `${title} · GPUs`;
    if (before.current === place) return;
    before.current = place;
    // A new view begins at its top, for the keyboard and for screen readers too.
    scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [place]);
  const current = PARENT[route.view] ?? route.view;
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>Skip to content</button>
      <header>
        {NOTICE !== "" && <p class="notice notice-warning">{NOTICE}</p>}
        <div class="bar">
          <a class="brand" href={link("fleet")}>GPUs</a>
          <nav aria-label="Views">
            {VIEWS.map(([view, title]) => (
              <a key={view} href={link(view)} aria-current={current === view ? "page" : undefined}>{title}</a>
            ))}
            <a href="docs" aria-current={current === "api" ? "page" : undefined}>API</a>
          </nav>
          <span class="bar-end">
            <Search />
            <ConnectionState />
            <ThemeSwitch />
          </span>
        </div>
        {route.view !== "api" && <Totals />}
      </header>
      <main id="main" tabIndex={-1} ref={main}>
        <Guarded key={place} route={route} />
      </main>
    </>
  );
}

/** Guarded shows a fault of the page itself, and lets the other views work. */
function Guarded({ route }: { route: Route }) {
  const [fault] = useErrorBoundary();
  if (fault) return <p class="empty" role="alert">This view cannot be drawn: {(fault as Error).message}. Please report it.</p>;
  return <View route={route} />;
}

function View({ route }: { route: Route }) {
  switch (route.view) {
    case "fleet": return <FleetView params={route.params} />;
    case "nodes": return <NodesView params={route.params} />;
    case "node": return <NodeView params={route.params} />;
    case "gpu": return <GPUView id={route.params.get("id") ?? ""} />;
    case "gpus": return <GPUsView params={route.params} />;
    case "teams": return <TeamsView params={route.params} />;
    case "processes": return <ProcessesView params={route.params} />;
    case "workloads": return <WorkloadsView params={route.params} />;
    case "problems": return <ProblemsView params={route.params} />;
    case "events": return <EventsView params={route.params} />;
    case "api": return <ApiView />;
    default: return <p class="empty">There is no such view. <a href={link("fleet")}>All GPUs</a></p>;
  }
}

function ConnectionState() {
  const c = useConnection();
  const word = { connecting: "connecting", live: "live", away: "no answer" }[c];
  return <span class={`live live-${c}`} role="status"><span class="live-dot" aria-hidden="true" />{word}</span>;
}
