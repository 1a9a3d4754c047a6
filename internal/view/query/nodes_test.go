// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

func TestNodes(t *testing.T) {
	s := viewtest.Snapshot()
	host := "host-of-n2"
	s.Nodes[4].Host = &host
	for _, test := range []struct {
		name  string
		scope Scope
		want  []string
		err   error
	}{
		{"all", Scope{}, []string{"-/workstation", "lab/n1", "prod/empty", "prod/n1", "prod/n2", "prod/unread"}, nil},
		{"a cluster", Scope{Cluster: "lab"}, []string{"lab/n1"}, nil},
		{"outside clusters", Scope{Cluster: NoCluster}, []string{"-/workstation"}, nil},
		{"a node", Scope{Node: "n2"}, []string{"prod/n2"}, nil},
		{"by its host", Scope{Node: host}, []string{"prod/n2"}, nil},
		{"in a cluster", Scope{Cluster: "lab", Node: "n1"}, []string{"lab/n1"}, nil},
		{"without GPUs", Scope{Cluster: "prod", Node: "empty"}, []string{"prod/empty"}, nil},
		{"of two clusters", Scope{Node: "n1"}, nil, &AmbiguousError{What: "node", Name: "n1", Candidates: []string{"lab/n1", "prod/n1"}, Total: 2}},
		{"unknown node", Scope{Node: "n9"}, nil, &UnknownError{What: "node", Name: "n9"}},
		{"node of another cluster", Scope{Cluster: "lab", Node: "n2"}, nil, &UnknownError{What: "node", Name: "n2"}},
		{"unknown cluster", Scope{Cluster: "no"}, nil, &UnknownError{What: "cluster", Name: "no"}},
		{"cluster without GPUs", Scope{Cluster: "cpu"}, nil, &NoGPUError{Cluster: "cpu"}},
		{"cluster that cannot be read", Scope{Cluster: "gone"}, nil, &NoGPUError{Cluster: "gone", Reasons: []string{"gone: kubernetes_exec: timeout"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			nodes, err := Nodes(s, test.scope)
			assert.Equal(t, test.err, err)
			var names []string
			for _, n := range nodes {
				names = append(names, ClusterName(n.Cluster)+"/"+n.Name)
			}
			assert.Equal(t, test.want, names)
		})
	}
	s.Nodes = s.Nodes[1:]
	_, err := Nodes(s, Scope{Cluster: NoCluster})
	assert.Equal(t, &UnknownError{What: "cluster", Name: NoCluster}, err)
}

func TestGPU(t *testing.T) {
	s := viewtest.Snapshot()
	placeholder := "n2/0000:11:00.0"
	s.Nodes[4].GPUs[3].ID = placeholder
	for _, test := range []struct {
		name  string
		scope Scope
		id    string
		want  string
		err   error
	}{
		{"by ID", Scope{}, "GPU-n1-2", "GPU-n1-2", nil},
		{"a partition", Scope{}, "MIG-n2-1", "MIG-n2-1", nil},
		{"by an ID with a slash", Scope{}, placeholder, placeholder, nil},
		{"by PCI address", Scope{Node: "n2"}, "0000:10:00.0", "GPU-n2-0", nil},
		{"with a long domain", Scope{Node: "n2"}, "00000000:10:00.0", "GPU-n2-0", nil},
		{"without domain", Scope{Node: "n2"}, "10:00.0", "GPU-n2-0", nil},
		{"by index", Scope{Node: "n2"}, "0", "GPU-n2-0", nil},
		{"by the second index", Scope{Cluster: "prod", Node: "n1"}, "1", "GPU-n1-1", nil},
		{"by an index that only one node has", Scope{}, "3", "GPU-n1-3", nil},
		{"index of many", Scope{Cluster: "prod"}, "1", "", &AmbiguousError{What: "GPU", Name: "1", Candidates: []string{"prod/n1", "prod/n2"}, Total: 2}},
		{"of another node", Scope{Node: "n2"}, "GPU-n1-2", "", &UnknownError{What: "GPU", Name: "GPU-n1-2"}},
		{"unknown index", Scope{Node: "n2"}, "7", "", &UnknownError{What: "GPU", Name: "7"}},
		{"garbage", Scope{}, "zz:00.0", "", &UnknownError{What: "GPU", Name: "zz:00.0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			nodes, err := Nodes(s, test.scope)
			require.NoError(t, err)
			g, err := GPU(nodes, test.id)
			assert.Equal(t, test.err, err)
			if test.err == nil {
				assert.Equal(t, test.want, g.ID)
			}
		})
	}
	nodes, _ := Nodes(s, Scope{})
	_, err := GPU(nodes, "0000:10:00.0")
	var ambiguous *AmbiguousError
	require.ErrorAs(t, err, &ambiguous)
	assert.Equal(t, []string{"-/workstation", "lab/n1", "prod/n1", "prod/n2"}, ambiguous.Candidates)
}

func TestAmbiguousIsBounded(t *testing.T) {
	var nodes []*view.Node
	for range 5000 {
		nodes = append(nodes, viewtest.Snapshot().Nodes[0])
	}
	_, err := GPU(nodes, "0")
	var ambiguous *AmbiguousError
	require.ErrorAs(t, err, &ambiguous)
	assert.Len(t, ambiguous.Candidates, maxCandidates)
	assert.Equal(t, 5000, ambiguous.Total)
}

func TestReadable(t *testing.T) {
	s := viewtest.Snapshot()
	reasons := []string{"prod/unread: kubernetes_exec: timeout"}
	for node, want := range map[string]error{
		"n2": nil, "empty": nil, "unread": &UnreadableError{Reasons: reasons},
	} {
		scope := Scope{Cluster: "prod", Node: node}
		nodes, err := Nodes(s, scope)
		require.NoError(t, err)
		if err := Readable(s, scope, nodes); want == nil {
			require.NoError(t, err)
		} else {
			assert.Equal(t, want, err)
		}
	}
	nothing := &view.Snapshot{}
	assert.Equal(t, &UnreadableError{Reasons: []string{"no node has sent anything"}}, Readable(nothing, Scope{}, nil))

	// A GPU with a name and nothing else was not read.
	unread := &view.Node{Name: "n", Sources: []view.Source{{Name: "nvml"}}, GPUs: []*view.GPU{{ID: "GPU-1"}}}
	assert.Equal(t, &UnreadableError{Reasons: []string{"-/n: nvml: unreadable"}}, Readable(&view.Snapshot{Nodes: []*view.Node{unread}}, Scope{}, []*view.Node{unread}))
}
