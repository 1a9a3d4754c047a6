// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// The parts of an OpenAPI document that the page shows.

export interface Document {
  info: { title: string; version: string; description?: string };
  paths: Record<string, { get?: Operation } & Record<string, unknown>>;
  components?: { parameters?: Record<string, Parameter>; responses?: Record<string, Answer>; schemas?: Record<string, Schema> };
}

export interface Operation {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: (Parameter | Reference)[];
  responses?: Record<string, Answer | Reference>;
}

export interface Parameter {
  name: string;
  in: "query" | "path" | "header";
  required?: boolean;
  description?: string;
  example?: unknown;
  schema?: Schema;
}

export interface Answer { description?: string; content?: Record<string, { schema?: Schema }> }
export interface Schema { type?: string | string[]; enum?: unknown[]; default?: unknown; minimum?: number; maximum?: number; example?: unknown; $ref?: string }
interface Reference { $ref: string }

/** resolve follows a reference within the document. */
export function resolve<T>(doc: Document, value: T | Reference | undefined): T | undefined {
  if (value === undefined || typeof value !== "object" || value === null || !("$ref" in value)) return value as T | undefined;
  let at: unknown = doc;
  for (const part of (value as Reference).$ref.replace(/^#\//, "").split("/")) {
    at = (at as Record<string, unknown> | undefined)?.[part.replaceAll("~1", "/").replaceAll("~0", "~")];
  }
  return at as T | undefined;
}

/** address returns the path and query of a request. A parameter without a value is left out. */
export function address(path: string, parameters: Parameter[], values: Record<string, string>): string {
  const query = new URLSearchParams();
  for (const p of parameters) {
    const value = values[p.name] ?? "";
    if (p.in === "path") path = path.replace(`{${p.name}}`, encodeURIComponent(value));
    else if (p.in === "query" && value !== "") query.set(p.name, value);
  }
  const text = query.toString();
  // Without the first slash, so that it works behind a prefix.
  return path.replace(/^\//, "") + (text === "" ? "" : `?${text}`);
}
