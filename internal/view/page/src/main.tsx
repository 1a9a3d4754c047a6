// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { render } from "preact";
import { live } from "./core/live";
import { applyTheme } from "./parts/theme";
import { Shell } from "./shell";

applyTheme();
live.start();
render(<Shell />, document.getElementById("app")!);
