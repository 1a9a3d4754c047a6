// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package smitest holds what the tests of amdsmi and rocmsmi share: a tool that answers from texts, and tests that hold for both
// sources.
package smitest
