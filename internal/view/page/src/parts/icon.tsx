// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

/** The signs, as paths in a square of 16. They are drawn, because not every machine has a font with them. */
const PATHS: Record<string, string> = {
  ok: "M3 8.5l3.2 3.2L13 5",
  failed: "M4 4l8 8M12 4l-8 8",
  degraded: "M8 3v6M8 12v.6",
  predicted: "M8 2l6 6-6 6-6-6z",
  unknown: "M5.5 6a2.5 2.5 0 1 1 3.4 2.3c-.6.3-.9.7-.9 1.4M8 12.4v.6",
  stale: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 5v3.2l2 1.3",
  throttled: "M8 3v9M4.5 8.8L8 12.3l3.5-3.5",
  info: "M8 7v5M8 4v.6",
  error: "M4 4l8 8M12 4l-8 8",
  warning: "M8 3v6M8 12v.6",
  light: "M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1M11.7 11.7l1.1 1.1M12.8 3.2l-1.1 1.1M4.3 11.7l-1.1 1.1",
  dark: "M12.8 9.8A5.5 5.5 0 0 1 6.2 3.2a5.5 5.5 0 1 0 6.6 6.6z",
  auto: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 2.5v11",
};

export const path = (name: string): string => PATHS[name] ?? "";

/** Icon is a sign without a name of its own: a word stands beside it, or its parent has a label. */
export function Icon({ name }: { name: string }) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}
