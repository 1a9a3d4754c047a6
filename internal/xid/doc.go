// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package xid is the catalogue of NVIDIA's XIDs, the errors that the driver reports by a code. catalogue.csv has the entries and their source.
// entry.go looks a code up, and action.go has the actions that NVIDIA recommends. Severity and meaning are ours.
package xid
