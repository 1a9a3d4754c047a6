// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useRef, useState } from "preact/hooks";
import { get, query } from "../core/api";
import { place } from "../core/format";
import { gpuLink, link, nodeLink } from "../core/route";
import type { Metrics, ProcessList, SummaryList, WorkloadList } from "../core/types";
import { owner } from "./process-table";

/** Suggestion is something whose name, number or holder contains the text. */
interface Suggestion { kind: string; name: string; about: string; href: string }

const EACH = 4; // suggestions of a kind
/** The time without a key before the API is asked, in ms. */
const PAUSE = 150;

async function suggestions(text: string, signal: AbortSignal): Promise<Suggestion[]> {
  const ask = <T,>(list: string, by?: string) => get<T>(list + query({ by, search: text, limit: EACH }), signal);
  const [nodes, gpus, workloads, processes] = await Promise.all([
    ask<SummaryList>("summary", "node"), ask<Metrics>("metrics"), ask<WorkloadList>("workloads"), ask<ProcessList>("processes"),
  ]);
  return [
    ...nodes.items.map((n) => ({ kind: "node", name: place(n.cluster, n.group), about: `${n.gpus} GPUs`, href: nodeLink(n.cluster, n.group ?? "") })),
    ...gpus.gpus.map((g) => ({ kind: "GPU", name: `${place(g.cluster, g.node)} GPU ${g.index ?? g.id}`, about: [g.id, g.serial_number, owner(g.containers[0] ?? g.processes[0])].filter(Boolean).join(", "), href: gpuLink(g.id) })),
    ...workloads.items.map((w) => ({
      kind: "workload", name: [w.namespace, w.name].filter(Boolean).join("/"), about: [w.kind, place(w.cluster, w.node)].filter(Boolean).join(", "),
      href: link("gpus", { cluster: w.cluster ?? "-", node: w.node, namespace: w.namespace, workload_kind: w.kind, workload: w.name }),
    })),
    ...processes.items.map((p) => ({
      kind: "process", name: `${p.pid} ${p.name ?? p.command ?? ""}`, about: [place(p.cluster, p.node), owner(p), p.owner].filter(Boolean).join(", "),
      href: link("processes", { cluster: p.cluster ?? "-", node: p.node, gpu: p.gpu, search: String(p.pid) }),
    })),
  ];
}

/** Search finds nodes, GPUs, workloads and processes by a part of any of their names. The key / goes to it. */
export function Search() {
  const field = useRef<HTMLInputElement>(null);
  const entered = useRef(false); // Enter came before the suggestions
  const [text, write] = useState("");
  const [found, set] = useState<{ text: string; list: Suggestion[] }>();
  const [chosen, choose] = useState(0);
  const needle = text.trim();
  const list = found?.text === needle ? found.list : [];
  const open = needle !== "" && found !== undefined;
  const leave = () => {
    entered.current = false;
    write("");
    set(undefined);
  };
  const go = (s: Suggestion) => {
    leave();
    field.current?.blur();
    location.assign(s.href);
  };

  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (e.key !== "/" || e.ctrlKey || e.altKey || e.metaKey || (e.target as Element).closest("input, textarea, select")) return;
      e.preventDefault();
      field.current?.focus();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
  useEffect(() => {
    if (needle === "") return set(undefined);
    const overtaken = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const list = await suggestions(needle, overtaken.signal);
        choose(0);
        if (entered.current && list[0]) go(list[0]);
        else set({ text: needle, list });
      } catch {
        // Overtaken, or the collector does not answer, which the page says elsewhere.
      }
      entered.current = false;
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      overtaken.abort();
    };
  }, [needle]);

  const onKey = (e: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (step && list.length > 0) choose((chosen + step + list.length) % list.length);
    else if (e.key === "Enter" && list[chosen]) go(list[chosen]);
    else if (e.key === "Enter") entered.current = needle !== "";
    else if (e.key === "Escape") leave();
    else return;
    e.preventDefault();
  };
  return (
    <div class="search">
      <input ref={field} type="text" role="combobox" aria-label="Search nodes, GPUs, workloads and processes" aria-expanded={open} aria-controls="suggestions"
        aria-autocomplete="list" aria-activedescendant={list.length > 0 ? `suggestion-${chosen}` : undefined} placeholder="Search ( / )" value={text} maxLength={253}
        spellcheck={false} autocomplete="off" onInput={(e) => write(e.currentTarget.value)} onKeyDown={onKey} onBlur={leave} />
      <ul id="suggestions" role="listbox" aria-label="Suggestions" hidden={list.length === 0}>
        {list.map((s, i) => (
          <li key={`${s.kind} ${s.href}`} id={`suggestion-${i}`} role="option" aria-selected={i === chosen} onMouseDown={(e) => e.preventDefault()} onClick={() => go(s)}>
            <span class="quiet">{s.kind}</span> <b>{s.name}</b> <span class="quiet">{s.about}</span>
          </li>
        ))}
      </ul>
      <p class={open && list.length === 0 && found.text === needle ? "nothing" : "hidden"} role="status">{open && found.text === needle && (list.length === 0 ? `Nothing matches “${needle}”.` : `${list.length} suggestions`)}</p>
    </div>
  );
}
