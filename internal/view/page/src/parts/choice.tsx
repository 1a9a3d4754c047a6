// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { words } from "../core/format";

export function Choice<T extends string>({ name, values, value, onChange }: { name: string; values: readonly T[]; value: T; onChange: (v: T) => void }) {
  return (
    <label class="choice">
      {name}
      <select value={value} onChange={(e) => onChange(e.currentTarget.value as T)}>
        {values.map((v) => <option key={v} value={v} selected={v === value}>{v.includes("/") ? v : words(v)}</option>)}
      </select>
    </label>
  );
}
