// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package kube reads what is needed of a Kubernetes cluster through its API: the pods of a node or of the cluster, their owners, and
// what drivers of dynamic resource allocation publish and allocate. It only gets, lists and watches, keeps only what its callers use,
// and shows what was last known while the API server does not answer.
//
//	config.go, rest.go, credentials.go   how a cluster is reached
//	transport_status.go, api_get.go      how requests end, and what they report
//	informer.go, pages.go, discovery.go  lists and watches
//	pods.go, owners.go                   pods and their owners
//	claims.go, slices.go                 devices of dynamic resource allocation
//	view.go                              all of it
package kube
