// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
	"github.com/otelgpu/gpureceiver/test/page/fleets"
)

// The GPUs of one machine are on one screen, each with the API's values and its history.
func TestMachine(t *testing.T) {
	for _, gpus := range []int{1, 8, 16} {
		t.Run(strconv.Itoa(gpus), func(t *testing.T) {
			s := fleets.Copy(fleets.Large(8))
			n := s.Nodes[0]
			n.GPUs = append(n.GPUs, s.Nodes[1].GPUs...)[:gpus]
			for i, g := range n.GPUs {
				g.Index, g.Node = new(i), n.Name
			}
			s.Nodes, s.Clusters = s.Nodes[:1], s.Clusters[:1]
			p := open(t, s, "/")
			p.size(1440, 900)
			p.until(`document.querySelectorAll(".machine svg.spark").length === ` + strconv.Itoa(len(read(n.GPUs))))
			p.until(`document.querySelectorAll(".machine dl").length === ` + strconv.Itoa(gpus))
			p.until(`document.querySelector('[data-total="problems"] .total-value').innerText !== "–"`)
			assert.LessOrEqual(t, eval[int](p, `document.documentElement.scrollHeight`), 900)
			same(p, "values", func() [][]string { return machineValues(ask[view.Node](p, "nodes/"+*n.Cluster+"/"+n.Name).GPUs) }, func() [][]string {
				return eval[[][]string](p, `[...document.querySelectorAll(".machine dl")].map(l => [...l.querySelectorAll("dd")].map(e => e.innerText))`)
			})
			assert.Empty(t, breaches(p))
			p.size(390, 844)
			assert.LessOrEqual(t, eval[int](p, `document.documentElement.scrollWidth`), 390)
		})
	}
}

func read(gpus []*view.GPU) (all []*view.GPU) {
	for _, g := range gpus {
		if g.Utilization.General != nil {
			all = append(all, g)
		}
	}
	return all
}

// machineValues are the values of GPUs without partitions, each with at most one container.
func machineValues(gpus []*view.GPU) [][]string {
	rows := [][]string{}
	for _, g := range gpus {
		row := gpuRow(g)
		clock, process, holder := dash, dash, dash
		if hertz, ok := g.Clocks["graphics"]; ok {
			clock = grouped(int(hertz/1e6+0.5)) + " MHz"
		}
		if len(g.Processes) > 0 {
			process = or(g.Processes[0].Name, or(g.Processes[0].Command, "")) + ", " + bytes(g.Processes[0].Memory)
		}
		if len(g.Containers) > 0 {
			c := g.Containers[0]
			holder = or(c.Namespace, "") + "/" + or(c.Pod, "")
			if c.Container != nil {
				holder += " / " + *c.Container
			}
		}
		rows = append(rows, []string{row[4], row[6], row[5], clock, process, holder})
	}
	return rows
}

// The first view of a fleet begins with what is wrong and who leaves GPUs idle. Groups with failed GPUs come first.
func TestSituation(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/#/fleet?by=cluster")
	p.until(`document.querySelectorAll(".situation .panel").length === 2`)
	worst := ask[view.List[view.Finding]](p, "problems?severity=warning").Items[0]
	first := p.text(".situation li")
	assert.Contains(t, first, worst.What)
	assert.Contains(t, first, place(worst.Cluster, *worst.Node))
	if worst.Begin != nil {
		assert.Contains(t, first, clock(worst.Begin))
	}
	for _, w := range worst.Workloads {
		assert.Contains(t, first, w)
	}
	assert.Contains(t, p.text(".situation .panel:nth-child(2) li"), "GPU")
	assert.Equal(t, "prod", eval[string](p, `document.querySelector("[data-group]").dataset.group`), "it has the failed GPU")
	assert.True(t, eval[bool](p, `document.querySelector(".legend").getBoundingClientRect().top < document.querySelector("[data-group]").getBoundingClientRect().top`))
}

// Why no GPU is known: no node has sent anything, a source cannot be read, or no node contains a GPU.
func TestWhyNoGPU(t *testing.T) {
	s := fleets.Copy(viewtest.Snapshot())
	var empty, unread *view.Node
	for _, n := range s.Nodes {
		switch n.Name {
		case "empty":
			empty = n
		case "unread":
			unread = n
		}
	}
	text := func(nodes ...*view.Node) string {
		p := open(t, &view.Snapshot{Time: viewtest.Now, Generation: 1, Nodes: nodes}, "/")
		p.until(`document.querySelector("main").innerText.includes("No GPU is known")`)
		return p.text("main")
	}
	assert.Contains(t, text(), "no node has sent data yet")
	assert.Contains(t, text(empty), "no GPU was found on 1 node")
	for reason, remedy := range map[string]string{"library": "Install the GPU driver", "driver": "Load the kernel driver", "permission_denied": "Grant the collector the permission"} {
		unread.Sources[0].Reasons = []string{reason}
		shown := text(unread)
		assert.True(t, strings.Contains(shown, reason) && strings.Contains(shown, remedy), shown)
	}
}
