// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { replaceParams } from "../core/route";

/** Filters is a text that rows contain, and the values that a link has chosen. They are parameters of the page's address and of the API's request. */
export function Filters({ names, params }: { names: [key: string, title: string][]; params: URLSearchParams }) {
  return (
    <form class="filters" role="search" onSubmit={(e) => e.preventDefault()}>
      <label>
        Filter
        <input type="search" placeholder="Part of a name or a number" value={params.get("search") ?? ""} maxLength={253} spellcheck={false} autocomplete="off"
          onInput={(e) => replaceParams({ search: e.currentTarget.value })} />
      </label>
      {names.map(([key, title]) => params.get(key) && (
        <button key={key} type="button" class="chip" onClick={() => replaceParams({ [key]: null })}>
          {title}: <b>{params.get(key)}</b> <span aria-hidden="true">✕</span><span class="hidden"> remove this filter</span>
        </button>
      ))}
    </form>
  );
}

/** filterOf returns the parameters of a request: the filters' and the text. */
export const filterOf = (keys: string[], params: URLSearchParams): Record<string, string | null> =>
  Object.fromEntries(["search", ...keys].map((key) => [key, params.get(key)?.trim() ?? null]));
