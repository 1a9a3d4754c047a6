// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlptest is what tests of OTLP have in common: data points without their resources, as a back end that drops
// resources sees them, and what would be lost there. It is imported by tests alone.
package otlptest
