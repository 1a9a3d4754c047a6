// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlptest is for tests of OTLP messages: their points, as a backend that drops resources sees them, the invariants of one message
// and of the messages of one source (counters, resources, ended series), their names and series in Prometheus, the declarations in
// metadata.yaml, and their differences from the semantic conventions. Only tests import it.
package otlptest
