// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard/shardtest"
)

func TestQuotas(t *testing.T) {
	timeAt := func(minute int) time.Time { return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
	for name, tc := range map[string]struct {
		shards int
		alive  []replica
		want   map[string]int
	}{
		"nobody":               {4, nil, map[string]int{}},
		"alone":                {4, []replica{{"a", 0, timeAt(1)}}, map[string]int{"a": 4}},
		"the first gets more":  {4, []replica{{"c", 0, timeAt(1)}, {"b", 0, timeAt(2)}, {"a", 0, timeAt(3)}}, map[string]int{"c": 2, "b": 1, "a": 1}},
		"who holds it keeps":   {4, []replica{{"a", 1, timeAt(1)}, {"b", 2, timeAt(2)}, {"c", 1, timeAt(3)}}, map[string]int{"a": 1, "b": 2, "c": 1}},
		"one gives one":        {5, []replica{{"a", 2, timeAt(1)}, {"b", 2, timeAt(2)}, {"c", 1, timeAt(3)}, {"d", 0, timeAt(4)}}, map[string]int{"a": 2, "b": 1, "c": 1, "d": 1}},
		"more replicas":        {1, []replica{{"a", 0, timeAt(1)}, {"b", 1, timeAt(2)}}, map[string]int{"a": 0, "b": 1}},
		"at the same time":     {3, []replica{{"b", 0, timeAt(1)}, {"a", 0, timeAt(1)}}, map[string]int{"a": 2, "b": 1}},
		"as many as there are": {3, []replica{{"a", 3, timeAt(1)}, {"b", 0, timeAt(1)}, {"c", 0, timeAt(1)}}, map[string]int{"a": 1, "b": 1, "c": 1}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, quotas(tc.shards, tc.alive)) })
	}
}

func TestNewIdentity(t *testing.T) {
	for _, host := range []string{"", "otel-7d9c", "Node_1.example.com", "--", strings.Repeat("x", 300), strings.Repeat("x-", 100)} {
		id := NewIdentity(host)
		assert.NotEqual(t, id, NewIdentity(host))
		o := Options{Name: strings.Repeat("n", 40), Identity: id, Shards: 64}
		assert.Empty(t, validation.IsDNS1123Subdomain(o.replica()), id)
		for key, value := range o.labels(roleReplica) {
			assert.Empty(t, validation.IsValidLabelValue(value))
			assert.Empty(t, validation.IsQualifiedName(key))
		}
	}
	assert.Regexp(t, `^otel-7d9c-[0-9a-f]{8}$`, NewIdentity("otel-7d9c"))
}

// A dead replica's Lease is deleted, but not the Lease of a replica that came back, nor a Lease of another election.
func TestBury(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 2)
		other := g.store.Client()
		old := func(name string, labels map[string]string) {
			identity := name
			_, err := other.Create(t.Context(), &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &identity},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		p := g.join("a")
		ours := p.options.labels(roleReplica)
		theirs := maps.Clone(ours)
		theirs[labelElection] = "gpureceiver-of-3"
		for i := range 15 {
			old(fmt.Sprintf("gpureceiver-replica-dead-%d", i), ours)
		}
		old("gpureceiver-replica-other", theirs)
		old("kube-scheduler", nil)
		g.watch(10 * time.Second)
		assert.Empty(t, p.Status().Held, "they are taken for alive for a time")
		g.watch(time.Minute)
		assert.Len(t, p.Status().Held, 2)
		g.watch(time.Minute)
		assert.Equal(t, []string{"gpureceiver-replica-" + p.options.Identity, "gpureceiver-replica-other"}, g.store.Names(labelRole, roleReplica))
		assert.Len(t, g.store.Names(labelRole, ""), 1)

		// Its own Lease was deleted: it creates another.
		require.NoError(t, other.Delete(t.Context(), p.options.replica(), metav1.DeleteOptions{}))
		g.watch(5 * time.Second)
		assert.Len(t, g.store.Names(labelRole, roleReplica), 2)
		require.NoError(t, p.Err())
		g.end()
	})
}

func TestErr(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 1)
		p := g.join("a")
		p.client.Set(shardtest.Trouble{Fail: apierrors.NewForbidden(shardtest.Leases, "", errors.New("no"))})
		time.Sleep(5 * time.Second)
		require.ErrorContains(t, p.Err(), "list the Lease in namespace monitoring: ")
		require.ErrorContains(t, p.Err(), "grant list, create, update and delete on leases of coordination.k8s.io in this namespace")
		g.end()
	})
}
