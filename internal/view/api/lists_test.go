// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// gpus are the IDs of the answer in its order.
func gpus(t *testing.T, query string) []string {
	t.Helper()
	var ids []string
	for _, g := range decode[view.Metrics](t, get(t, "/api/v1/gpu/metrics"+query)).GPUs {
		ids = append(ids, g.ID)
	}
	return ids
}

func TestMetricsFilters(t *testing.T) {
	for query, want := range map[string][]string{
		"?cluster=prod": {"GPU-n1-0", "GPU-n1-1", "GPU-n1-2", "GPU-n1-3", "GPU-n2-0", "MIG-n2-0", "MIG-n2-1", "GPU-n2-1"},
		"": {
			"GPU-workstation-0", "000000000000abc0", "000000000000abc1",
			"GPU-n1-0", "GPU-n1-1", "GPU-n1-2", "GPU-n1-3", "GPU-n2-0", "MIG-n2-0", "MIG-n2-1", "GPU-n2-1",
		},
		"?cluster=-":                            {"GPU-workstation-0"},
		"?namespace=ml":                         {"GPU-n1-0", "GPU-n1-1", "GPU-n1-2"},
		"?pod=train-0":                          {"GPU-n1-0", "GPU-n1-1"},
		"?gpu=GPU-n2-0":                         {"GPU-n2-0", "MIG-n2-0", "MIG-n2-1"},
		"?gpu=MIG-n2-1":                         {"MIG-n2-1"},
		"?node=n2&gpu=1":                        {"GPU-n2-1"},
		"?status=failed":                        {"GPU-n2-1"},
		"?status=unknown":                       {"MIG-n2-0", "MIG-n2-1"},
		"?pod=none":                             nil,
		"?cluster=prod&sort=-power_watts":       {"GPU-n1-3", "GPU-n1-0", "GPU-n1-2", "GPU-n2-0", "GPU-n1-1", "MIG-n2-0", "MIG-n2-1", "GPU-n2-1"},
		"?cluster=prod&sort=power_watts":        {"GPU-n1-1", "GPU-n2-0", "GPU-n1-2", "GPU-n1-0", "GPU-n1-3", "MIG-n2-0", "MIG-n2-1", "GPU-n2-1"},
		"?node=n2&sort=id":                      {"GPU-n2-0", "GPU-n2-1", "MIG-n2-0", "MIG-n2-1"},
		"?node=n2&sort=-id":                     {"MIG-n2-1", "MIG-n2-0", "GPU-n2-1", "GPU-n2-0"},
		"?node=n2&sort=-throttled":              {"GPU-n2-0", "MIG-n2-0", "MIG-n2-1", "GPU-n2-1"},
		"?cluster=prod&sort=-processes&limit=2": {"GPU-n1-0", "GPU-n1-2"},
		"?search=A100":                          {"GPU-n2-0", "MIG-n2-0", "MIG-n2-1", "GPU-n2-1"},
		"?search=ML%2Ftrain":                    {"GPU-n1-0", "GPU-n1-1"},
		"?search=lost":                          {"GPU-n2-1"},
		"?search=none+such":                     nil,
		"?cluster=prod&sort=health":             {"GPU-n2-1", "GPU-n1-3", "GPU-n1-0", "GPU-n1-1", "GPU-n1-2", "GPU-n2-0", "MIG-n2-0", "MIG-n2-1"},
		"?sort=health&limit=3":                  {"GPU-n2-1", "GPU-n1-3", "GPU-workstation-0"},
	} {
		assert.Equal(t, want, gpus(t, query), query)
	}
}

// The sums of a page cover all pages of the request.
func TestMetricsSummary(t *testing.T) {
	m := decode[view.Metrics](t, get(t, "/api/v1/gpu/metrics?limit=1"))
	assert.Equal(t, 9, m.Summary.GPUs)
	assert.Equal(t, 11, m.Total)
	assert.Len(t, m.GPUs, 1)
	assert.Equal(t, "gateway-0", m.Instance)
	assert.Equal(t, viewtest.Now, m.Time)

	m = decode[view.Metrics](t, get(t, "/api/v1/gpu/metrics?gpu=MIG-n2-1"))
	assert.Equal(t, 1, m.Summary.GPUs)
	assert.InDelta(t, 20<<30, *m.Summary.Memory.Total, 0)
}

func TestOneGPU(t *testing.T) {
	g := decode[view.GPUMetrics](t, get(t, "/api/v1/gpu/metrics/GPU-n2-0"))
	assert.Equal(t, "GPU-n2-0", g.ID)
	require.Len(t, g.Partitions, 2)
	assert.Equal(t, "MIG-n2-0", g.Partitions[0].ID)
	assert.Nil(t, g.Utilization.General, "what was not read is null")
	assert.Contains(t, get(t, "/api/v1/gpu/metrics/GPU-n2-1").Body.String(), `"watts":null`)
	assert.Equal(t, "GPU-n2-1", decode[view.GPUMetrics](t, get(t, "/api/v1/gpu/metrics/1?node=n2")).ID)
	assert.Equal(t, "GPU-n2-1", decode[view.GPUMetrics](t, get(t, "/api/v1/gpu/metrics/0000:11:00.0?node=n2")).ID)
}

// A search finds names, states and whole numbers in every list, whatever their case, and sums cover what was found.
func TestSearch(t *testing.T) {
	for path, want := range map[string]int{
		"metrics?search=train-0": 2, "processes?search=4242": 1, "processes?search=TRAIN": 1, "nodes?search=workst": 1, "workloads?search=statefulset": 1,
		"summary?by=node&search=n2": 1, "problems?search=gpu-n2-1": 1, "events?search=fallen": 1,
	} {
		var list struct{ Total int }
		require.NoError(t, json.Unmarshal(get(t, "/api/v1/gpu/"+path).Body.Bytes(), &list))
		assert.Equal(t, want, list.Total, path)
	}
	assert.Equal(t, 2, decode[view.Metrics](t, get(t, "/api/v1/gpu/metrics?search=train-0")).Summary.GPUs)
}

// Pages that follow each other have each entry once, however they are sorted.
func TestPages(t *testing.T) {
	s := viewtest.Snapshot()
	n := s.Nodes[3]
	for i := range 100 {
		memory := float64(i % 7)
		p := &view.Process{PID: i, GPU: n.GPUs[i%4].ID, GPUIndex: n.GPUs[i%4].Index, Node: n.Name, Cluster: n.Cluster, Memory: &memory}
		if i%5 == 0 {
			p.Memory = nil
		}
		n.GPUs[i%4].Processes = append(n.GPUs[i%4].Processes, p)
	}
	h := New(viewtest.NewReader(s), Settings{})
	for _, sort := range []string{"", "pid", "-pid", "memory_bytes", "-memory_bytes", "name", "-started"} {
		t.Run(sort, func(t *testing.T) {
			values := url.Values{"limit": {"7"}}
			if sort != "" {
				values.Set("sort", sort)
			}
			var paged []string
			for range 20 {
				w := ask(t, h, http.MethodGet, "/api/v1/gpu/processes?"+values.Encode())
				l := decode[view.List[*view.Process]](t, w)
				assert.Equal(t, 102, l.Total)
				assert.Equal(t, "102", w.Header().Get("X-Total-Count"))
				for _, p := range l.Items {
					paged = append(paged, fmt.Sprint(p.GPU, " ", p.PID))
				}
				if l.Next == nil {
					assert.Empty(t, w.Header().Get("Link"))
					break
				}
				values.Set("cursor", *l.Next)
				assert.Equal(t, "</api/v1/gpu/processes?"+values.Encode()+`>; rel="next"`, w.Header().Get("Link"))
			}
			values = url.Values{"limit": {"1000"}}
			if sort != "" {
				values.Set("sort", sort)
			}
			var whole []string
			for _, p := range decode[view.List[*view.Process]](t, ask(t, h, http.MethodGet, "/api/v1/gpu/processes?"+values.Encode())).Items {
				whole = append(whole, fmt.Sprint(p.GPU, " ", p.PID))
			}
			assert.Len(t, whole, 102)
			assert.Equal(t, whole, paged)
			assert.Len(t, slices.Compact(slices.Sorted(slices.Values(paged))), 102)
		})
	}
}

// Names that are not UTF-8, which OTLP forbids and no collector checks, do not make pages start again and again.
func TestPagesOfNamesThatAreNoText(t *testing.T) {
	s := viewtest.Snapshot()
	for i, n := range s.Nodes {
		n.Name = fmt.Sprintf("\xff\xfe%d", i)
	}
	h := New(viewtest.NewReader(s), Settings{})
	for _, sort := range []string{"", "&sort=name", "&sort=-name"} {
		target, pages := "/api/v1/gpu/nodes?limit=1"+sort, 0
		for next := target; next != ""; pages++ {
			require.Less(t, pages, len(s.Nodes))
			l := decode[view.List[*view.Node]](t, ask(t, h, http.MethodGet, next))
			next = ""
			if l.Next != nil {
				next = target + "&cursor=" + *l.Next
			}
		}
		assert.Equal(t, len(s.Nodes), pages, sort)
	}
}

func TestCursorOfAnotherSort(t *testing.T) {
	l := decode[view.List[*view.Node]](t, get(t, "/api/v1/gpu/nodes?limit=1&sort=name"))
	assert.Equal(t, 400, get(t, "/api/v1/gpu/nodes?limit=1&sort=-name&cursor="+*l.Next).Code)
}

// An entry that comes or goes between two pages moves no other from one to the next.
func TestPagesOfAChangingList(t *testing.T) {
	s := viewtest.Snapshot()
	reader := viewtest.NewReader(s)
	h := New(reader, Settings{})
	l := decode[view.List[*view.Node]](t, ask(t, h, http.MethodGet, "/api/v1/gpu/nodes?limit=2"))
	assert.Equal(t, "n1", l.Items[1].Name)
	later := viewtest.Snapshot()
	later.Nodes = later.Nodes[2:] // what was on the first page is gone
	reader.Set(later)
	l = decode[view.List[*view.Node]](t, ask(t, h, http.MethodGet, "/api/v1/gpu/nodes?limit=2&cursor="+*l.Next))
	assert.Equal(t, "empty", l.Items[0].Name)
}

func TestCSV(t *testing.T) {
	s := viewtest.Snapshot()
	n := s.Nodes[3]
	names := []string{"=cmd()", "+1", "-1", "@x", "\tx", `a "quoted", cell`, "<b>"}
	for i, name := range names {
		n.GPUs[3].Processes = append(n.GPUs[3].Processes, &view.Process{PID: i, GPU: n.GPUs[3].ID, Node: "n1", Cluster: n.Cluster, Name: &name})
	}
	h := New(viewtest.NewReader(s), Settings{})
	w := ask(t, h, http.MethodGet, "/api/v1/gpu/processes?gpu=GPU-n1-3", "Accept", "text/csv")
	assert.Equal(t, "text/csv; charset=utf-8; header=present", w.Header().Get("Content-Type"))
	assert.Equal(t, "Accept", w.Header().Get("Vary"))
	rows, err := csv.NewReader(w.Body).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+len(names))
	column := slices.Index(rows[0], "name")
	for i, want := range []string{"'=cmd()", "'+1", "'-1", "'@x", "'\tx", `a "quoted", cell`, "<b>"} {
		assert.Equal(t, want, rows[i+1][column])
	}
	assert.Empty(t, rows[1][slices.Index(rows[0], "memory_bytes")], "not read")

	for target, header := range map[string]string{
		"/api/v1/gpu/nodes": "cluster,name,host,state,readable", "/api/v1/gpu/metrics": "cluster,node,index,id,parent",
		"/api/v1/gpu/summary": "by,group,cluster,namespace", "/api/v1/gpu/processes": "cluster,node,gpu,gpu_index,pid",
	} {
		w := ask(t, h, http.MethodGet, target, "Accept", "text/csv")
		assert.True(t, strings.HasPrefix(w.Body.String(), header), w.Body.String())
	}
}

func TestAccept(t *testing.T) {
	for accept, want := range map[string]string{
		"": "application/json", "*/*": "application/json", "text/html,*/*;q=0.8": "application/json", "text/csv": "text/csv; charset=utf-8; header=present",
		"text/*": "text/csv; charset=utf-8; header=present", "text/csv;q=0.5, application/json": "application/json",
		"application/json;q=0.1, text/csv;q=0.2": "text/csv; charset=utf-8; header=present", "text/csv;q=0": "application/json",
		"text/csv;q=nan": "application/json", "image/png": "application/json", ";;;,,": "application/json",
	} {
		assert.Equal(t, want, get(t, "/api/v1/gpu/nodes", "Accept", accept).Header().Get("Content-Type"), accept)
	}
}
