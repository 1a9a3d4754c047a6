// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
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

// usual is how an API server answers.
var usual = shardtest.Trouble{Slow: 20 * time.Millisecond}

// process is a replica at work.
type process struct {
	*Election
	client *shardtest.Client
	cancel context.CancelFunc
	ended  chan struct{}
	killed bool
	lost   chan int
}

// group is replicas that share shards, and one who looks at them.
type group struct {
	t      *testing.T
	store  *shardtest.Store
	shards int

	mu        sync.Mutex
	processes []*process
	orphaned  []time.Duration // how long a shard was without a holder
	longest   time.Duration
	twice     int
	early     int // Leases that were released before the reading had ended
}

func newGroup(t *testing.T, shards int) *group {
	t.Helper()
	return &group{t: t, store: shardtest.New(), shards: shards, orphaned: make([]time.Duration, shards)}
}

func (g *group) join(name string) *process {
	shards := g.shards
	p := &process{client: g.store.Client(), ended: make(chan struct{}), lost: make(chan int, 1000)}
	p.Election = New(Options{
		Shards: g.shards, Name: "gpureceiver", Namespace: "monitoring", Identity: NewIdentity(name), Leases: p.client, Changed: func() {},
		Lost: func(shard int) {
			time.Sleep(50 * time.Millisecond) // reads end
			if g.store.Holder(fmt.Sprintf("gpureceiver-shard-%d-of-%d", shard, shards)) == "" {
				g.mu.Lock()
				g.early++
				g.mu.Unlock()
			}
			p.lost <- shard
		},
	})
	p.client.Set(usual)
	ctx, cancel := context.WithCancel(g.t.Context())
	p.cancel = cancel
	go func() {
		defer close(p.ended)
		p.Run(ctx)
	}()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.processes = append(g.processes, p)
	return p
}

// kill ends a process without a word.
func (g *group) kill(p *process) {
	g.mu.Lock()
	p.killed = true
	g.mu.Unlock()
	p.client.Set(shardtest.Trouble{Fail: errors.New("killed")})
	p.cancel()
	<-p.ended
}

// nodeOf is the name of a node of a shard.
func nodeOf(shard, shards int) string {
	for i := 0; ; i++ {
		if name := fmt.Sprintf("node-%d", i); of(name, shards) == shard {
			return name
		}
	}
}

// watch looks at all replicas for a time: how long a shard is without a holder, and that it never has two.
func (g *group) watch(d time.Duration) {
	const step = 50 * time.Millisecond
	g.longest = 0
	for range d / step {
		time.Sleep(step)
		g.mu.Lock()
		for shard := range g.shards {
			holders := 0
			for _, p := range g.processes {
				if !p.killed && p.Holds(nodeOf(shard, g.shards)) {
					holders++
				}
			}
			if holders > 1 {
				g.twice++
			}
			if holders > 0 {
				g.orphaned[shard] = 0
				continue
			}
			g.orphaned[shard] += step
			g.longest = max(g.longest, g.orphaned[shard])
		}
		g.mu.Unlock()
	}
}

// parts are how many shards each replica holds, the fewest first.
func (g *group) parts() []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	var parts []int
	for _, p := range g.processes {
		if !p.killed && p.ended != nil {
			parts = append(parts, len(p.Status().Held))
		}
	}
	slices.Sort(parts)
	return parts
}

func (g *group) leave(p *process) {
	p.cancel()
	<-p.ended
	g.mu.Lock()
	defer g.mu.Unlock()
	g.processes = slices.DeleteFunc(g.processes, func(other *process) bool { return other == p })
}

func (g *group) end() {
	g.mu.Lock()
	processes := slices.Clone(g.processes)
	g.mu.Unlock()
	for _, p := range processes {
		p.cancel()
	}
	for _, p := range processes {
		<-p.ended
	}
	assert.Zero(g.t, g.early, "released too early")
	synctest.Wait()
}

// Three replicas, one killed: the bounds that are promised.
func TestElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 7)
		first := g.join("otel-0")
		g.watch(10 * time.Second)
		assert.Equal(t, []int{7}, g.parts(), "alone")
		g.join("otel-1")
		g.join("otel-2")
		g.watch(30 * time.Second)
		assert.Equal(t, []int{2, 2, 3}, g.parts(), "evenly")
		assert.Less(t, g.longest, 10*time.Second, "a shard that changes hands")
		assert.Equal(t, 3, first.Status().Replicas)

		g.watch(5 * time.Minute)
		assert.Zero(t, g.longest, "in a steady state every shard has its holder")

		g.kill(first)
		g.watch(time.Minute)
		assert.Equal(t, []int{3, 4}, g.parts())
		assert.Less(t, g.longest, 30*time.Second, "within an interval of the default")
		g.watch(2 * time.Minute)
		assert.Zero(t, g.longest)
		assert.Len(t, g.store.Names(labelRole, roleReplica), 2, "the Lease of the one that is no more is deleted")

		leaving := g.join("otel-3")
		g.watch(time.Minute)
		assert.Equal(t, []int{2, 2, 3}, g.parts())
		g.leave(leaving)
		g.watch(time.Minute)
		assert.Less(t, g.longest, 10*time.Second, "what is released is taken at once")
		assert.Equal(t, []int{3, 4}, g.parts())
		assert.Zero(t, g.twice, "never two holders")
		assert.Len(t, g.store.Names(labelRole, roleShard), 7)

		g.end()
		assert.Empty(t, g.store.Names(labelRole, roleReplica))
		for _, name := range g.store.Names(labelRole, roleShard) {
			assert.Empty(t, g.store.Holder(name), "released")
		}
	})
}

// All at once, as a Deployment is rolled out.
func TestElectionTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 16)
		for i := range 5 {
			g.join(fmt.Sprintf("otel-%d", i))
		}
		g.watch(30 * time.Second)
		assert.Equal(t, []int{3, 3, 3, 3, 4}, g.parts())
		g.watch(time.Minute)
		assert.Zero(t, g.longest)
		for _, p := range slices.Clone(g.processes) {
			g.join("new")
			g.watch(5 * time.Second)
			g.leave(p)
			g.watch(5 * time.Second)
			assert.Less(t, g.longest, 15*time.Second)
		}
		g.watch(30 * time.Second)
		assert.Equal(t, []int{3, 3, 3, 3, 4}, g.parts())
		assert.Zero(t, g.twice)
		g.end()
	})
}

// One shard is active and passive: the other takes over, and the first does not take it back.
func TestElectionPassive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 1)
		active := g.join("a")
		g.watch(5 * time.Second)
		passive := g.join("b")
		g.watch(2 * time.Minute)
		assert.Zero(t, g.longest)
		assert.Equal(t, []int{0}, active.Status().Held)
		assert.Empty(t, passive.Status().Held)
		g.leave(active)
		g.watch(20 * time.Second)
		assert.Less(t, g.longest, 6*time.Second)
		assert.Equal(t, []int{0}, passive.Status().Held)
		g.join("c")
		g.watch(time.Minute)
		assert.Zero(t, g.longest)
		assert.Equal(t, []int{0}, passive.Status().Held)
		g.end()
	})
}

// A replica that does not reach the API server stops before another begins, and reads again when it does.
func TestElectionPartition(t *testing.T) {
	for name, fail := range map[string]shardtest.Trouble{
		"refused": {Fail: apierrors.NewForbidden(shardtest.Leases, "", nil)},
		"hanging": {Hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGroup(t, 4)
				a, b := g.join("a"), g.join("b")
				g.watch(30 * time.Second)
				require.Equal(t, []int{2, 2}, g.parts())
				a.client.Set(fail)
				g.watch(9 * time.Second)
				assert.Equal(t, []int{2, 2}, g.parts(), "a moment is borne")
				require.Error(t, a.Err())
				require.NoError(t, b.Err())
				g.watch(time.Minute)
				assert.Equal(t, []int{0, 4}, g.parts())
				assert.Less(t, g.longest, 30*time.Second)
				a.client.Set(usual)
				g.watch(time.Minute)
				assert.Equal(t, []int{2, 2}, g.parts())
				require.NoError(t, a.Err())
				assert.Zero(t, g.twice)

				// Nobody reaches it, and then all do.
				a.client.Set(fail)
				b.client.Set(fail)
				g.watch(time.Minute)
				assert.Equal(t, []int{0, 0}, g.parts())
				a.client.Set(usual)
				b.client.Set(usual)
				g.watch(time.Minute)
				assert.Equal(t, []int{2, 2}, g.parts())
				assert.Zero(t, g.twice)
				g.end()
			})
		})
	}
}

// An API server that hangs does not hold up the end.
func TestElectionEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 3)
		p := g.join("a")
		g.watch(10 * time.Second)
		p.client.Set(shardtest.Trouble{Hang: true})
		time.Sleep(time.Second)
		began := time.Now()
		g.end()
		assert.LessOrEqual(t, time.Since(began), CloseWait+100*time.Millisecond)
		close(p.lost)
		var lost []int
		for shard := range p.lost {
			lost = append(lost, shard)
		}
		assert.ElementsMatch(t, []int{0, 1, 2}, lost)
	})
}

// A process that was stopped and continued does not take itself for the holder.
func TestHoldsNoLonger(t *testing.T) {
	now := time.Now()
	e := New(Options{Shards: 1, Changed: func() {}})
	e.now = func() time.Time { return now }
	e.quota = 1
	may, takes := e.admit(0)
	require.True(t, may)
	require.True(t, takes)
	e.settle(0, takes, now, nil)
	assert.True(t, e.Holds("n"))
	now = now.Add(RenewDeadline)
	assert.False(t, e.Holds("n"))
	may, takes = e.admit(0)
	assert.True(t, may)
	assert.False(t, takes)
	e.settle(0, takes, now, nil)
	assert.True(t, e.Holds("n"))
}

func TestQuotas(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
	for name, tc := range map[string]struct {
		shards int
		alive  []replica
		want   map[string]int
	}{
		"nobody":               {4, nil, map[string]int{}},
		"alone":                {4, []replica{{"a", 0, at(1)}}, map[string]int{"a": 4}},
		"the first gets more":  {4, []replica{{"c", 0, at(1)}, {"b", 0, at(2)}, {"a", 0, at(3)}}, map[string]int{"c": 2, "b": 1, "a": 1}},
		"who holds it keeps":   {4, []replica{{"a", 1, at(1)}, {"b", 2, at(2)}, {"c", 1, at(3)}}, map[string]int{"a": 1, "b": 2, "c": 1}},
		"one gives one":        {5, []replica{{"a", 2, at(1)}, {"b", 2, at(2)}, {"c", 1, at(3)}, {"d", 0, at(4)}}, map[string]int{"a": 2, "b": 1, "c": 1, "d": 1}},
		"more replicas":        {1, []replica{{"a", 0, at(1)}, {"b", 1, at(2)}}, map[string]int{"a": 0, "b": 1}},
		"at the same time":     {3, []replica{{"b", 0, at(1)}, {"a", 0, at(1)}}, map[string]int{"a": 2, "b": 1}},
		"as many as there are": {3, []replica{{"a", 3, at(1)}, {"b", 0, at(1)}, {"c", 0, at(1)}}, map[string]int{"a": 1, "b": 1, "c": 1}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, quotas(tc.shards, tc.alive)) })
	}
}

func TestOf(t *testing.T) {
	const nodes, shards = 1000, 8
	var in [shards]int
	for i := range nodes {
		in[of(fmt.Sprintf("ip-10-0-%d-%d.ec2.internal", i/250, i%250), shards)]++
	}
	for _, n := range in {
		assert.InDelta(t, nodes/shards, n, nodes/shards*0.35)
	}
	assert.Zero(t, of("anything", 1))
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

// A dead replica's Lease is deleted, not that of one that came back, nor one of another election.
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

		// Its own was deleted: it makes another.
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
