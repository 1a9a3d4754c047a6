// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package deploy tests the manifests of deploy/kubernetes: that they are what Kubernetes takes, that they carry the
// configurations that are shipped, and that they give no right that is not needed.
package deploy
