// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package docs tests the documentation: its links and anchors, its language, and its examples; and the language of comments and names.
// It is a module of its own, because the product needs no parser of Markdown or of PromQL.
package docs
