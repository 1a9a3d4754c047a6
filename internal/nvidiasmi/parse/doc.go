// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package parse reads what nvidia-smi prints: the XML of -q -x, the tables of --query-gpu and --query-compute-apps, pmon,
// -L, --help-query-gpu, and the messages it ends with. It starts nothing and knows nothing of where the text comes from.
//
// The tool's output is not guaranteed to be compatible between versions, so that what is there decides, not a version: an
// unknown element or column is passed over, a missing one leaves its quantity absent, and so does any text where a number
// is expected. Numbers become SI here and nowhere else.
package parse
