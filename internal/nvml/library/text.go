// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package library

import "strings"

// Text makes valid UTF-8 of what the driver says: OTLP takes nothing else, and a back end refuses the whole message for one byte.
// Drivers have returned what lay in their memory as a name (555.85 under WSL).
func Text(said string) string { return strings.ToValidUTF8(said, "\uFFFD") }
