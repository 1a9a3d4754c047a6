// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Bundles the page into the folder that its argument names. The same sources give the same bytes.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "..", "dist");
const licence = readFileSync(join(here, "node_modules", "preact", "LICENSE"), "utf8").trim();

mkdirSync(out, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: [{ in: "main.tsx", out: "app" }, { in: "style/app.css", out: "app" }],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  outdir: out,
  legalComments: "none",
  charset: "utf8",
  banner: { js: `/*! This file contains Preact (preactjs.com):\n${licence}\n*/` },
  logLevel: "warning",
});
copyFileSync(join(here, "index.html"), join(out, "index.html"));
