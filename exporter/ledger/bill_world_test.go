// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/test/histories"
)

// billedGPU is a GPU, and what the ledger knows of it.
type billedGPU struct {
	*life
	lost, late bool               // it is not read, or its next read comes after a later one
	delayed    []pmetric.Metrics  // the reads that do so
	read       int64              // the last one that came in time; 0: none
	then       map[string]float64 // held then; nil if it was not known
}

// hourOfModel is an hour of the GPUs of a node and a model.
type hourOfModel struct {
	node, model string
	hour        int64
}

// billed is the world of a random history: GPUs of two nodes, a ledger that bills them, and what the bill must be.
type billed struct {
	t             *testing.T
	random        *rand.Rand
	ledger        *instance
	gpus          []*billedGPU
	start, now    int64
	sent          []pmetric.Metrics
	seen, unknown map[hourOfModel]float64 // GPU-seconds
	held          map[string]float64      // by device, pod and hour
}

func newBilled(t *testing.T, random *rand.Rand, ledger *instance) *billed {
	t.Helper()
	w := &billed{t: t, random: random, ledger: ledger, start: 3_000, now: 3_000}
	w.seen, w.unknown, w.held = map[hourOfModel]float64{}, map[hourOfModel]float64{}, map[string]float64{}
	for i, model := range []string{"NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3", "NVIDIA A30", "AMD Instinct MI300X", "NVIDIA H100 80GB HBM3"} {
		l := newLife(fmt.Sprint("GPU-", i))
		l.model = model
		l.divide(histories.OneOf(random, layouts[model]...))
		if i > 2 {
			l.node = "node-b"
		}
		w.gpus = append(w.gpus, &billedGPU{life: l})
	}
	return w
}

func (w *billed) Steps() []histories.Step {
	g := histories.OneOf(w.random, w.gpus...)
	return append(histories.Times(2, g.steps(w.random, w.now)),
		histories.Step{Name: "a GPU is lost, or found again", Weight: 1, Do: func() string { g.lost = !g.lost; return g.id }},
		histories.Step{Name: "the next read comes late", Weight: 2, Do: func() string { g.late = true; return g.id }},
		histories.Step{Name: "a read comes again", Weight: 6, Do: func() string {
			if err := w.ledger.consumeMetrics(w.t.Context(), histories.OneOf(w.random, w.sent...)); err != nil {
				w.t.Error(err)
			}
			return ""
		}},
		histories.Step{Name: "the collector is away", Weight: 1, Do: func() string { w.Pass(300 + 4_000*w.random.Float64()); return "" }},
	)
}

func (w *billed) Pass(seconds float64) {
	whole := int64(math.Ceil(seconds))
	w.now += whole
	for _, g := range w.gpus {
		g.pass(w.random, whole)
	}
}

// Check reads the GPUs.
func (w *billed) Check() []string {
	request := pmetric.NewMetrics()
	for _, g := range w.gpus {
		if g.lost {
			continue
		}
		metrics := g.metrics(w.now)
		if g.late {
			g.late, g.delayed = false, append(g.delayed, metrics)
			continue
		}
		w.sent = append(append(w.sent, metrics), g.delayed...)
		g.delayed = nil
		w.count(g)
		copied := pmetric.NewMetrics()
		metrics.CopyTo(copied)
		copied.ResourceMetrics().MoveAndAppendTo(request.ResourceMetrics())
	}
	if err := w.ledger.consumeMetrics(w.t.Context(), request); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// count counts each second since the last read for the pods that held the GPU at that read.
func (w *billed) count(g *billedGPU) {
	for second := g.read; g.read > 0 && second < w.now; second++ {
		key := hourOfModel{g.node, g.model, second / 3600}
		w.seen[key]++
		if g.then == nil || w.now-g.read > 300 {
			w.unknown[key]++
			continue
		}
		for holder, share := range g.then {
			w.held[holder+" "+readTime(second/3600*3600)] += share
		}
	}
	if g.read, g.then = w.now, nil; g.known {
		g.then = g.life.held()
	}
}

// Recover makes everything known, and checks the bill.
func (w *billed) Recover() []string {
	for _, g := range w.gpus {
		g.known, g.lost, g.late = true, false, false
		for _, pods := range g.pods {
			for _, p := range pods {
				p.unread = false
			}
		}
	}
	return append(append(w.Check(), w.wrongHours()...), w.wrongHolders()...)
}

// wrongHours compares the report of each hour with the seconds of the GPUs, per node and model.
func (w *billed) wrongHours() []string {
	reported := map[hourOfModel]reportRow{}
	for hour := w.start / 3600; hour <= w.now/3600; hour++ {
		answer, err := w.ledger.db.report(w.t.Context(), &question{Since: time.Unix(hour*3600, 0), Until: time.Unix(hour*3600+3600, 0), By: "node"})
		if err != nil {
			return []string{err.Error()}
		}
		for _, r := range answer.Rows {
			key := hourOfModel{r.Name, r.Model, hour}
			reported[key] = r
			w.seen[key] += 0 // it is compared, too
		}
	}
	var wrong []string
	for key, seen := range w.seen {
		r := reported[key]
		if unlike(r.Held+r.Unallocated+r.Unknown, seen) || unlike(r.Used+r.Idle+r.UnknownUse, r.Held) || unlike(r.Unknown, w.unknown[key]) {
			wrong = append(wrong, fmt.Sprintf("%v: %+v, of %v s seen and %v s unknown", key, r, seen, w.unknown[key]))
		}
	}
	return wrong
}

// wrongHolders compares what each pod held with its shares.
func (w *billed) wrongHolders() []string {
	negative := "SELECT * FROM allocations WHERE held_time < 0 OR busy_time < 0 OR idle_time < 0 OR unknown_use_time < 0 OR unallocated_time < 0 OR unknown_time < 0"
	wrong := contents(w.t, w.ledger.db.DB, negative)
	rows, err := w.ledger.db.Query("SELECT hw_id, k8s_pod_name, " + asText("hour_time") + ", SUM(held_time) FROM allocations " +
		"WHERE k8s_pod_name IS NOT NULL GROUP BY hw_id, k8s_pod_name, hour_time")
	if err != nil {
		return append(wrong, err.Error())
	}
	defer rows.Close()
	paid := map[string]float64{}
	for rows.Next() {
		var device, pod, hour string
		var held float64
		if err := rows.Scan(&device, &pod, &hour, &held); err != nil {
			return append(wrong, err.Error())
		}
		key := device + " " + pod + " " + hour
		if paid[key] = held; unlike(held, w.held[key]) {
			wrong = append(wrong, fmt.Sprintf("%s: billed %v s, held %v s", key, held, w.held[key]))
		}
	}
	if err := rows.Err(); err != nil {
		return append(wrong, err.Error())
	}
	for key, held := range w.held {
		if _, ok := paid[key]; !ok {
			wrong = append(wrong, fmt.Sprintf("%s: held %v s, not billed", key, held))
		}
	}
	return wrong
}

func unlike(a, b float64) bool { return math.Abs(a-b) > 1e-3 }
