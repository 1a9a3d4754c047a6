// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { percent } from "../core/format";

/** Meter is a bar with its number. A share that was not read has no bar. */
export function Meter({ share, label, warn }: { share: number | null; label: string; warn?: boolean }) {
  const shown = share === null ? undefined : Math.max(0, Math.min(1, share));
  return (
    <span class="meter-box">
      <span class="meter-text">{percent(share)}</span>
      <span class={`meter${warn ? " meter-warn" : ""}${shown === undefined ? " meter-none" : ""}`} title={label} aria-hidden="true">
        {shown !== undefined && <span style={{ width: `${shown * 100}%` }} />}
      </span>
    </span>
  );
}
