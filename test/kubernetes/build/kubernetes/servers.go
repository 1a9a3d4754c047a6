// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build servers

// Package servers names the programs that go.mod pins.
package servers

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
