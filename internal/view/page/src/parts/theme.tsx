// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { useState } from "preact/hooks";
import { Icon } from "./icon";

type Theme = "auto" | "light" | "dark";
const KEY = "gpu_view.theme";
const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };

function stored(): Theme {
  try {
    const t = localStorage.getItem(KEY);
    return t === "light" || t === "dark" ? t : "auto";
  } catch {
    return "auto"; // the browser keeps nothing for this page
  }
}

export function applyTheme(theme: Theme = stored()): void {
  document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event("themechange"));
}

/** ThemeSwitch goes from the system's theme to light, dark and back. */
export function ThemeSwitch() {
  const [theme, set] = useState(stored);
  const change = () => {
    const t = NEXT[theme];
    try {
      localStorage.setItem(KEY, t);
    } catch {
      // The theme holds until the page is closed.
    }
    applyTheme(t);
    set(t);
  };
  return (
    <button type="button" class="theme" onClick={change} aria-label={`Theme: ${theme}. Change to ${NEXT[theme]}.`} title={`Theme: ${theme}`}>
      <Icon name={theme} />
    </button>
  );
}
