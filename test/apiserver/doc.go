// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package apiserver runs a real API server for tests. Nothing runs beside it and its etcd: no pod is ever scheduled, started or collected.
package apiserver
