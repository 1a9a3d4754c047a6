// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package exec

import "testing"

type part struct {
	name string
	run  func(*testing.T, *stage)
}

// TestExec tests the scraper's behaviour under changes of a cluster, on one cluster.
func TestExec(t *testing.T) {
	s := newStage(t)
	s.namespace(t, gpuOperator)
	s.shipped(t)
	s.drivers(t, gpuOperator, "nvidia-driver-daemonset", true, driverContainer, driverImage)
	t.Run("deployment", func(t *testing.T) { testDeployment(t, s) })
	// Tests that do not affect others run in parallel.
	t.Run("steady", func(t *testing.T) {
		for _, p := range []part{
			{"kubeconfig", testKubeconfig},
			{"attribution", testAttribution},
			{"two clusters", testTwoClusters},
			{"gateway", testGateway},
			{"rights", testRights},
			{"other containers", testContainers},
			{"late namespace", testLateNamespace},
			{"driver pods deleted", testDeleted},
			{"tokens", testTokens},
		} {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				p.run(t, s)
			})
		}
	})
	for _, p := range []part{
		{"capacity without a pod", testCapacity},
		{"driver pod restarts", testRestarts},
		{"driver pod stopped in a read", testStopped},
		{"spoiled output", testSpoiled},
		{"hanging tool", testHanging},
		{"frozen API server", testFrozenAPIServer},
		{"frozen kubelet", testFrozenKubelet},
	} {
		t.Run(p.name, func(t *testing.T) { p.run(t, s) })
	}
}
