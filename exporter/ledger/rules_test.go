// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

const (
	daySeconds   = 86_400
	readInterval = 30
	// The collector is away in the middle of the day, and its counters begin again.
	awaySince, awayUntil = 43_200, 43_800
)

// dayDevice is a GPU or a MIG instance of the day.
type dayDevice struct{ id, model, parent, profile string }

// dayPod holds a device for a part of the day.
type dayPod struct {
	namespace, name, device string
	from, until             int
	share                   float64 // 0: it shares equally
	use, watts              float64 // at most, which varies; watts 0: use and energy are not known
	idle, energy            float64
	since                   int
}

// dayOfGPUs returns devices and pods: trainings of a day, jobs of hours, two pods on one GPU, parts of a GPU, a MIG instance, and a GPU that
// nothing holds.
func dayOfGPUs() ([]dayDevice, []*dayPod) {
	const model = "NVIDIA H100 80GB HBM3"
	var devices []dayDevice
	for i := range 6 {
		devices = append(devices, dayDevice{id: fmt.Sprint("GPU-", i), model: model})
	}
	devices = append(devices, dayDevice{"MIG-1", model + " MIG 3g.40gb", "GPU-4", "3g.40gb"})
	pods := []*dayPod{
		{namespace: "train", name: "train-0", device: "GPU-0", from: 3_000, until: daySeconds + 1, use: 0.9, watts: 600},
		{namespace: "web", name: "web-0", device: "GPU-2", from: 0, until: daySeconds + 1, use: 0.4, watts: 150},
		{namespace: "chat", name: "chat-0", device: "GPU-2", from: 0, until: 70_000, use: 0.6, watts: 200},
		{namespace: "parts", name: "part-0", device: "GPU-3", from: 0, until: daySeconds + 1, share: 0.5, use: 0.5, watts: 200},
		{namespace: "parts", name: "part-1", device: "GPU-3", from: 20_000, until: 60_000, share: 0.25, use: 0.5, watts: 100},
		{namespace: "parts", name: "part-2", device: "GPU-3", from: 0, until: daySeconds + 1, use: 0.2, watts: 50},
		{namespace: "mig", name: "mig-0", device: "MIG-1", from: 600, until: daySeconds + 1},
	}
	for i, from := 0, 1_000; from < daySeconds-12_000; i, from = i+1, from+11_430 {
		pods = append(pods, &dayPod{namespace: "jobs", name: fmt.Sprint("job-", i), device: "GPU-1", from: from, until: from + 10_000, use: 1, watts: 500})
	}
	return devices, pods
}

// readOf returns what the receiver sends of a read.
func readOf(devices []dayDevice, pods []*dayPod, now int) pmetric.Metrics {
	metrics := pmetric.NewMetrics()
	point := func(resource map[string]any, name string, value float64, start int, attributes map[string]any) {
		r := metrics.ResourceMetrics().AppendEmpty()
		_ = r.Resource().Attributes().FromRaw(resource)
		m := r.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
		m.SetName(name)
		p := m.SetEmptySum().DataPoints().AppendEmpty()
		_ = p.Attributes().FromRaw(attributes)
		p.SetTimestamp(pcommon.NewTimestampFromTime(time.Unix(daySeconds+int64(now), 0)))
		p.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Unix(daySeconds+int64(start), 0)))
		p.SetDoubleValue(value)
	}
	allocated := map[string]float64{}
	for _, p := range pods {
		if now < p.from || now >= p.until {
			continue
		}
		allocated[p.device] = 1
		resource := map[string]any{"k8s.node.name": "node-a", "k8s.namespace.name": p.namespace, "k8s.pod.name": p.name, "k8s.pod.uid": p.name, "k8s.container.name": "main"}
		attributes := map[string]any{"hw.id": p.device}
		point(resource, "container.gpu.allocated", 1, 0, attributes)
		if p.share > 0 {
			point(resource, "container.gpu.share", p.share, 0, attributes)
		}
		if p.watts > 0 {
			point(resource, "container.gpu.idle.time", p.idle, p.since, attributes)
			point(resource, "container.gpu.energy", p.energy, p.since, attributes)
		}
	}
	for _, d := range devices {
		attributes := map[string]any{"hw.id": d.id, "hw.model": d.model}
		if d.parent != "" {
			attributes["hw.parent"], attributes["hw.gpu.partition.profile"] = d.parent, d.profile
		}
		node := map[string]any{"k8s.node.name": "node-a"}
		point(node, "hw.gpu.info", 1, 0, attributes)
		point(node, "hw.gpu.allocated", allocated[d.id], 0, attributes)
	}
	return metrics
}

// inPrometheus are the names of the metrics there.
var inPrometheus = map[string]string{
	"hw.gpu.info": "hw_gpu_info", "hw.gpu.allocated": "hw_gpu_allocated", "container.gpu.allocated": "container_gpu_allocated", "container.gpu.share": "container_gpu_share_ratio",
	"container.gpu.idle.time": "container_gpu_idle_time_seconds_total", "container.gpu.energy": "container_gpu_energy_joules_total",
}

// scraped are the values of each series in promtool's notation, one for each interval: a series that is gone has one that says so.
type scraped map[string][]string

func (s scraped) add(metrics pmetric.Metrics, step int) {
	for _, resource := range metrics.ResourceMetrics().All() {
		metric := resource.ScopeMetrics().At(0).Metrics().At(0)
		point := metric.Sum().DataPoints().At(0)
		labels := map[string]string{}
		for _, attributes := range []pcommon.Map{resource.Resource().Attributes(), point.Attributes()} {
			for name, value := range attributes.All() {
				labels[strings.ReplaceAll(name, ".", "_")] = value.Str()
			}
		}
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(labels)) {
			pairs = append(pairs, fmt.Sprintf("%s=%q", name, labels[name]))
		}
		series := inPrometheus[metric.Name()] + "{" + strings.Join(pairs, ", ") + "}"
		s.fill(series, step)
		s[series] = append(s[series], strconv.FormatFloat(point.DoubleValue(), 'f', -1, 64))
	}
}

func (s scraped) fill(series string, step int) {
	for len(s[series]) < step {
		value := "_"
		if n := len(s[series]); n > 0 && s[series][n-1] != "_" && s[series][n-1] != "stale" {
			value = "stale"
		}
		s[series] = append(s[series], value)
	}
}

// The ledger and the recording rules of Prometheus get the same day. By namespace they differ by at most 1 %: docs/operate/ledger.md.
func TestRulesAgreeWithTheLedger(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not in PATH: make test-rules runs this test")
	}
	random := rand.New(rand.NewPCG(1, 2))
	l := newLedger(t, "sqlite:"+filepath.Join(t.TempDir(), "ledger.db"))
	series := scraped{}
	devices, pods := dayOfGPUs()
	request := pmetric.NewMetrics()
	for now := 0; now <= daySeconds; now += readInterval {
		for _, p := range pods {
			switch {
			case now == awayUntil, now-readInterval < p.from:
				p.idle, p.energy, p.since = 0, 0, now
			default: // the use of the pod goes up and down within the hours
				use := p.use * random.Float64() * float64(now/1_800%3) / 2
				p.idle += (1 - use) * readInterval
				p.energy += (0.3 + 0.7*use) * p.watts * readInterval
			}
		}
		if now < awaySince || now >= awayUntil {
			read := readOf(devices, pods, now)
			series.add(read, now/readInterval)
			read.ResourceMetrics().MoveAndAppendTo(request.ResourceMetrics())
		}
		if now%3_600 == 0 {
			require.NoError(t, l.consumeMetrics(t.Context(), request))
			request = pmetric.NewMetrics()
		}
	}
	answer, err := l.db.report(t.Context(), &question{Since: time.Unix(daySeconds, 0), Until: time.Unix(2*daySeconds, 0), By: "namespace"})
	require.NoError(t, err)
	ledger := map[string]reportRow{}
	for _, row := range answer.Rows {
		total := ledger[row.Name]
		total.add(&row)
		ledger[row.Name] = total
	}
	assert.Subset(t, slices.Collect(maps.Keys(ledger)), []string{"train", "web", "chat", "parts", "mig", "jobs"})

	var tests []any
	compareTo := func(series string, want float64) {
		value := fmt.Sprintf("sum(sum_over_time(%s[1439m30s])) * 60", series)
		query := value + " > 0" // nothing is expected
		if want > 0 {
			query = fmt.Sprintf("%[1]s / %[2]f < 0.99 or %[1]s / %[2]f > 1.01 or absent(%[1]s)", value, want)
		}
		tests = append(tests, map[string]any{"expr": query, "eval_time": "1d"})
	}
	compare := func(metric, namespace string, want float64) {
		compareTo(fmt.Sprintf(`bill:%s:sum{k8s_namespace_name="%s"}`, metric, namespace), want)
	}
	for namespace, row := range ledger {
		if namespace == "" { // what nothing holds
			compareTo("bill:gpu_unallocated:sum", row.Unallocated)
			continue
		}
		compare("gpu_held", namespace, row.Held)
		compare("gpu_used", namespace, row.Used)
		compare("gpu_idle", namespace, row.Idle)
		energy := 0.0
		if row.Energy != nil {
			energy = *row.Energy
		}
		compare("gpu_power_watts", namespace, energy)
	}
	var inputs []any
	for name := range series {
		series.fill(name, daySeconds/readInterval+1)
		inputs = append(inputs, map[string]any{"series": name, "values": strings.Join(series[name], " ")})
	}
	rules, err := filepath.Abs("../../deploy/prometheus/recording.rules.yaml")
	require.NoError(t, err)
	content, err := json.Marshal(map[string]any{
		"rule_files": []string{rules}, "evaluation_interval": "1m",
		"tests": []any{map[string]any{"interval": "30s", "input_series": inputs, "promql_expr_test": tests}},
	})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "test.yaml") // JSON is YAML
	require.NoError(t, os.WriteFile(path, content, 0o600))
	output, err := exec.CommandContext(t.Context(), promtool, "test", "rules", path).CombinedOutput()
	require.NoError(t, err, string(output))
}
