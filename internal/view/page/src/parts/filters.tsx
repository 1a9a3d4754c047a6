// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { replaceParams } from "../core/route";

/** Filters are text fields that become parameters of the page's address and of the API's request. */
export function Filters({ names, params }: { names: [key: string, title: string][]; params: URLSearchParams }) {
  return (
    <form class="filters" role="search" onSubmit={(e) => e.preventDefault()}>
      {names.map(([key, title]) => (
        <label key={key}>
          {title}
          <input
            type="text"
            value={params.get(key) ?? ""}
            maxLength={253}
            spellcheck={false}
            autocomplete="off"
            onChange={(e) => replaceParams({ [key]: e.currentTarget.value.trim() })}
          />
        </label>
      ))}
    </form>
  );
}
