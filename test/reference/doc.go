// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package reference compares the pages of docs/reference with the configurations of the components: each key has a row with its type and
// default, each row is a key, and each example is read by its component. It also compares docs/reference/attributes.md with what the
// components declare.
//
//	pages.go      the tables and the examples of the pages
//	settings.go   the keys of a configuration, with types and defaults
//	compare.go    what differs
package reference
