// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { useState } from "preact/hooks";
import { address, type Answer, type Document, type Operation, type Parameter, resolve } from "../core/openapi";

/** MOST is how much of an answer is shown, in characters. */
const MOST = 100_000;

interface Tried { request: string; status: string; type: string; body: string }

/** OperationPart is one request of the API: its parameters, its answers, and a form that sends it. */
export function OperationPart({ doc, path, op }: { doc: Document; path: string; op: Operation }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="operation" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary><span class="method">GET</span> <code>{path}</code> <span class="quiet">{op.summary}</span></summary>
      {open && <Detail doc={doc} path={path} op={op} />}
    </details>
  );
}

function Detail({ doc, path, op }: { doc: Document; path: string; op: Operation }) {
  const parameters = (op.parameters ?? []).map((p) => resolve<Parameter>(doc, p)).filter((p): p is Parameter => p !== undefined && p.in !== "header");
  const answers = Object.entries(op.responses ?? {}).map(([status, a]): [string, Answer | undefined] => [status, resolve<Answer>(doc, a)]);
  const types = Object.keys(answers.find(([status]) => status === "200")?.[1]?.content ?? {});
  return (
    <div class="operation-body">
      {op.description && <p class="prose">{op.description}</p>}
      <Try path={path} parameters={parameters} types={types} />
      <h3>Answers</h3>
      <ul class="plain">
        {answers.map(([status, a]) => <li key={status}><b>{status}</b> {a?.description} <span class="quiet">{Object.keys(a?.content ?? {}).join(", ")}</span></li>)}
      </ul>
    </div>
  );
}

function Try({ path, parameters, types }: { path: string; parameters: Parameter[]; types: string[] }) {
  const [values, setValues] = useState<Record<string, string>>(() =>
    Object.fromEntries(parameters.filter((p) => p.in === "path").map((p) => [p.name, String(p.example ?? p.schema?.example ?? "")])));
  const [accept, setAccept] = useState(types[0] ?? "application/json");
  const [tried, setTried] = useState<Tried | undefined>();
  const [busy, setBusy] = useState(false);
  const request = address(path, parameters, values);
  const stream = types.includes("text/event-stream");
  const send = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setTried(await run(request, accept));
    setBusy(false);
  };
  return (
    <form onSubmit={(e) => void send(e)}>
      {parameters.length > 0 && <h3>Parameters</h3>}
      {parameters.map((p) => <Field key={p.name} p={p} value={values[p.name] ?? ""} onChange={(v) => setValues({ ...values, [p.name]: v })} />)}
      {types.length > 1 && (
        <label class="field"><span class="field-name">Accept</span>
          <select value={accept} onChange={(e) => setAccept(e.currentTarget.value)}>{types.map((t) => <option key={t} value={t}>{t}</option>)}</select>
        </label>
      )}
      <p class="request"><code>GET /{request}</code></p>
      {stream ? <p class="quiet">This answer never ends, so you cannot try it here. This page reads it in the background.</p> : <button type="submit" disabled={busy}>Try it</button>}
      {tried && (
        <div class="tried" role="status">
          <p><b>{tried.status}</b> <span class="quiet">{tried.type}</span></p>
          <pre tabIndex={0} aria-label="Answer">{tried.body}</pre>
        </div>
      )}
    </form>
  );
}

function Field({ p, value, onChange }: { p: Parameter; value: string; onChange: (v: string) => void }) {
  const choices = p.schema?.enum;
  const example = p.example ?? p.schema?.example ?? p.schema?.default;
  return (
    <label class="field">
      <span class="field-name">{p.name}{p.required && <span class="quiet"> required</span>}</span>
      {choices ? (
        <select value={value} onChange={(e) => onChange(e.currentTarget.value)}>
          <option value="">{p.schema?.default !== undefined ? `default: ${String(p.schema.default)}` : "not given"}</option>
          {choices.map((c) => <option key={String(c)} value={String(c)}>{String(c)}</option>)}
        </select>
      ) : (
        <input type="text" value={value} required={p.required} spellcheck={false} autocomplete="off"
          placeholder={example === undefined ? "" : String(example)} onInput={(e) => onChange(e.currentTarget.value)} />
      )}
      {p.description && <span class="field-help">{p.description}</span>}
    </label>
  );
}

/** run sends a request and returns what to show of the answer. */
async function run(request: string, accept: string): Promise<Tried> {
  try {
    const answer = await fetch(request, { headers: { Accept: accept }, signal: AbortSignal.timeout(30_000) });
    const type = answer.headers.get("Content-Type") ?? "";
    const raw = await answer.text();
    const whole = type.includes("json") ? pretty(raw) : raw;
    const body = whole.length > MOST ? `${whole.slice(0, MOST)}\n… ${whole.length - MOST} more characters` : whole;
    return { request, status: `${answer.status} ${answer.statusText}`, type, body };
  } catch (e) {
    return { request, status: "No answer", type: "", body: (e as Error).message };
  }
}

function pretty(raw: string): string {
  try {
    return JSON.stringify(JSON.parse(raw), null, 2);
  } catch {
    return raw;
  }
}
