// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package deploy tests the manifests of deploy/kubernetes and the Helm chart that they are rendered from: Kubernetes accepts them, they
// contain the shipped configurations, and they grant no unnecessary permission.
package deploy
