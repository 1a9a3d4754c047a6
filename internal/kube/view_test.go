// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
)

func fakeClients(objects ...runtime.Object) (*Clients, *fake.Clientset) {
	client := fake.NewClientset(objects...)
	return &Clients{
		Kubernetes: client,
		Metadata:   metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme()),
		Dynamic:    dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()),
	}, client
}

func TestView(t *testing.T) {
	clients, _ := fakeClients(newPod("a", "u1"))
	v, err := NewView(clients, ViewOptions{Pods: PodsOptions{Node: "n1"}, Devices: true})
	require.NoError(t, err)
	v.Start()
	defer v.Stop()
	require.True(t, v.WaitSynced(t.Context()))
	assert.NotNil(t, v.Pods.ByUID("u1"))
	assert.Empty(t, v.Problems())
}

func TestViewNeverSynced(t *testing.T) {
	clients, client := fakeClients()
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	v, err := NewView(clients, ViewOptions{})
	require.NoError(t, err)
	v.Start()
	defer v.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	assert.False(t, v.WaitSynced(ctx))
	eventually(t, func() bool { return len(v.Problems()) == 1 })
	assert.Equal(t, "pods", v.Problems()[0].What)
}

func TestViewStopWithoutStart(t *testing.T) {
	clients, _ := fakeClients()
	v, err := NewView(clients, ViewOptions{})
	require.NoError(t, err)
	v.Stop()
}
