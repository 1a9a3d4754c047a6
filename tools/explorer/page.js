"use strict";
const form = document.querySelector("form");
const entries = [...document.querySelectorAll("details")];
const texts = new Map(entries.map((entry) => [entry, entry.textContent.toLowerCase()]));

function matches(entry, chosen) {
  for (const [name, value] of chosen) {
    if (name === "text") {
      const words = value.toLowerCase().split(/\s+/);
      if (!words.every((word) => texts.get(entry).includes(word))) return false;
    } else if (value && !entry.dataset[name].split("|").includes(value)) {
      return false;
    }
  }
  return true;
}

// filter shows the entries that match, and keeps what is chosen in the address.
function filter() {
  const chosen = [...new FormData(form)].filter(([, value]) => value.trim());
  let shown = 0;
  for (const entry of entries) {
    entry.hidden = !matches(entry, chosen);
    if (!entry.hidden) shown++;
  }
  for (const section of document.querySelectorAll("section")) {
    section.hidden = !section.querySelector("details:not([hidden])");
  }
  document.getElementById("nothing").hidden = shown > 0;
  form.querySelector("output").textContent = `${shown} of ${entries.length}`;
  const query = new URLSearchParams(chosen).toString();
  history.replaceState(null, "", location.pathname + (query && "?" + query) + location.hash);
}

// follow opens the entry that the address names, even if the filters hide it.
function follow() {
  const entry = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!entry) return;
  if (entry.hidden) {
    form.reset();
    filter();
  }
  entry.open = true;
  entry.scrollIntoView();
  entry.querySelector("summary")?.focus();
}

for (const [name, value] of new URLSearchParams(location.search)) {
  if (form.elements[name]) form.elements[name].value = value;
}
form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(filter));
document.querySelector("#nothing a").addEventListener("click", (event) => {
  event.preventDefault();
  form.reset();
});
addEventListener("hashchange", follow);
addEventListener("load", follow); // the browser has gone to the address itself by then, which takes the focus
filter();
