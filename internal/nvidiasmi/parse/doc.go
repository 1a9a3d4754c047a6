// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package parse reads what nvidia-smi prints: the XML of -q -x, the tables of --query-gpu and --query-compute-apps, pmon,
// -L, --help-query-gpu, and the tool's messages. It starts no process and does not know the origin of the text.
//
// NVIDIA does not guarantee that the output is compatible between versions. The parsers therefore look at what is there, not
// at a version: they skip an unknown element or column, a missing one leaves its quantity absent, and so does any text
// instead of a number. Numbers become SI here and nowhere else.
package parse
