// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package kube reads what is needed of a Kubernetes cluster through its API: the pods of a node or of the cluster, their
// owners, and the devices that drivers publish for dynamic resource allocation. It only gets, lists and watches, keeps
// nothing but what is asked of it, and shows the last that was known while the API server is away.
package kube
