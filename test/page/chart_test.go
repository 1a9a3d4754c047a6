// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/page"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
	"github.com/otelgpu/gpureceiver/test/page/fleets"
)

// eventsReader has events of its own.
type eventsReader struct {
	*fleets.Reader
	events []view.Event
}

func (r eventsReader) Events() []view.Event { return r.events }

// openCharts shows GPU-n1-0, which has an XID and is throttled, and has events that are no marks: one before the history, and one of a container.
func openCharts(t *testing.T) *tab {
	t.Helper()
	event := func(uid, name, severity string, age time.Duration, body *string) view.Event {
		return view.Event{
			UID: uid, Name: name, Severity: severity, Time: viewtest.Now.Add(-age), Observed: viewtest.Now, Body: body,
			Cluster: new("prod"), Node: new("n1"), GPU: new("GPU-n1-0"), Attributes: map[string]any{},
		}
	}
	reader := fleets.NewReader(viewtest.Snapshot())
	return openHandler(t, reader, fleets.Handler(eventsReader{reader, []view.Event{
		event("throttled", "hw.gpu.throttled.started", "WARN", 2*time.Minute, nil),
		event("xid", "hw.gpu.xid", "ERROR", 5*time.Minute+10*time.Second, new("XID 79")),
		event("container", "container.gpu.allocated", "INFO", 6*time.Minute, new("container")),
		event("old", "hw.gpu.xid", "ERROR", 20*time.Minute, new("XID 31")),
	}}), "/#/gpu?id=GPU-n1-0")
}

func powerHistory(p *tab, since string) []view.HistoryPoint {
	p.t.Helper()
	return ask[view.History](p, "devices/GPU-n1-0/history?metric=hw.power&since="+since).Points
}

// saidOf is what a chart says of a point.
func saidOf(point view.HistoryPoint) string {
	if point.Value == nil {
		return clock(&point.Time) + ": not read"
	}
	return fmt.Sprintf("%s: %s (%s to %s)", clock(&point.Time), watts(point.Value), watts(point.Min), watts(point.Max))
}

const powerChart = `document.querySelector('[data-reading="power"] .chart-plot')`

// The value under the pointer is the API's point, in a gap too.
func TestChartUnderThePointer(t *testing.T) {
	p := openCharts(t)
	p.until(powerChart)
	points := powerHistory(p, "1h")
	require.Len(t, points, 31)
	eval[any](p, powerChart+`.scrollIntoView({block: "center"})`)
	said := `document.querySelector('[data-reading="power"] .chart-said').innerText`
	for _, i := range []int{0, 8, 13, 30} {
		box := eval[[]float64](p, `(() => {const b = `+powerChart+`.getBoundingClientRect(); return [b.left, b.top + b.height / 2, b.width]})()`)
		require.NoError(t, call(p.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: input.DispatchMouseEventTypeMouseMoved, X: min(box[0]+box[2]*float64(i)/30, box[0]+box[2]-1), Y: box[1],
		}))
		want := saidOf(points[i])
		p.until(said + `=== "` + want + `"`)
	}
	require.NoError(t, call(p.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: 1, Y: 1}))
	p.until(said + `.trim() === ""`)
}

// The keyboard alone reaches each value of a chart, its enlargement, the choice of the time, and the table.
func TestChartByKeyboard(t *testing.T) {
	p := openCharts(t)
	p.until(powerChart)
	points := powerHistory(p, "1h")
	tab := func(to string) {
		t.Helper()
		for range 60 {
			if p.key(kb.Tab); eval[bool](p, focused+`.matches('`+to+`')`) {
				return
			}
		}
		require.Fail(t, "not reached by Tab", to)
	}
	tab(`[data-reading="power"] button`)
	tab(`[data-reading="power"] .chart-plot`)
	at := func(want string) {
		t.Helper()
		p.until(focused + `.getAttribute("aria-valuetext") === "` + want + `"`)
		assert.Equal(t, want, p.text(`[data-reading="power"] .chart-said`))
	}
	throttled := clock(new(viewtest.Now.Add(-2*time.Minute))) + " hw.gpu.throttled.started"
	xid := clock(new(viewtest.Now.Add(-5*time.Minute-10*time.Second))) + " XID 79"
	at(saidOf(points[30]))
	p.key(kb.ArrowLeft + kb.ArrowLeft + kb.ArrowLeft + kb.ArrowLeft)
	at(saidOf(points[26]) + "; " + throttled)
	p.key(kb.PageUp)
	at(saidOf(points[16]))
	p.key(kb.ArrowRight + kb.ArrowRight + kb.ArrowRight)
	at(saidOf(points[19]) + "; " + xid)
	p.key(kb.Home + kb.ArrowLeft)
	at(saidOf(points[0]))
	p.key(kb.End)
	at(saidOf(points[30]))

	eval[any](p, `document.querySelector('[data-reading="power"] button').focus()`)
	p.key(kb.Enter)
	p.until(`document.querySelector("dialog[open] .chart-mark")`)
	assert.Empty(t, breaches(p))
	tab(`dialog summary`)
	p.key(kb.Enter)
	p.until(`document.querySelector("dialog tbody tr")`)
	table := func(points []view.HistoryPoint) [][]string {
		rows := make([][]string, len(points))
		for i, point := range points {
			rows[i] = []string{clock(&point.Time), watts(point.Value), watts(point.Min), watts(point.Max), dash}
			switch age := viewtest.Now.Sub(point.Time); age {
			case 5*time.Minute + 30*time.Second:
				rows[i][4] = xid
			case 2 * time.Minute:
				rows[i][4] = throttled
			}
		}
		return rows
	}
	shown := func() [][]string {
		return eval[[][]string](p, `[...document.querySelectorAll("dialog tbody tr")].map(r => [...r.children].map(c => c.innerText))`)
	}
	assert.Equal(t, table(points), shown())
	assert.Empty(t, breaches(p), "with the table")
	for _, width := range []int64{390, 1440} {
		p.size(width, 900)
		assert.LessOrEqual(t, eval[int64](p, `document.documentElement.scrollWidth`), width)
		assert.LessOrEqual(t, eval[int64](p, `document.querySelector("dialog").scrollWidth`), width)
		assert.Empty(t, breaches(p), width)
	}
	tab(`dialog select`)
	p.key("5") // 5 min
	p.until(`document.querySelectorAll("dialog .chart-plot").length === 1 && document.querySelector("dialog .chart-plot").ariaValueMax === "9"`)
	eval[any](p, `document.querySelector("dialog details").open = true`)
	p.until(`document.querySelectorAll("dialog tbody tr").length === 10`)
	assert.Equal(t, table(powerHistory(p, "5m")), shown())
	p.key(kb.Escape)
	p.until(`!document.querySelector("dialog") && ` + focused + `.matches('[data-reading="power"] button')`)
}

// A mark is at the time of its event, and says which it is.
func TestChartMarks(t *testing.T) {
	p := openCharts(t)
	p.until(`document.querySelectorAll('[data-reading="power"] .chart-mark').length === 2`)
	marks := eval[[][]any](p, `[...document.querySelectorAll('[data-reading="power"] .chart-mark')].map(m => [m.dataset.time, Number(m.getAttribute("x1")), m.textContent])`)
	for i, age := range []time.Duration{2 * time.Minute, 5*time.Minute + 10*time.Second} {
		assert.Equal(t, viewtest.Now.Add(-age).Format(time.RFC3339), marks[i][0])
		assert.InDelta(t, 240*(1-age.Minutes()/15), marks[i][1], 0.06)
	}
	assert.Contains(t, marks[1][2], "XID 79")
	times := eval[[]string](p, `[...document.querySelectorAll('[data-reading="power"] .chart-times span')].map(e => e.innerText)`)
	assert.Equal(t, []string{viewtest.Now.Add(-10 * time.Minute).Local().Format("15:04"), viewtest.Now.Local().Format("15:04")}, times)
	values := eval[[]string](p, `[...document.querySelectorAll('[data-reading="utilization"] .chart-values span')].map(e => e.innerText)`)
	assert.Equal(t, []string{"0 %", "50 %", "100 %"}, values)
}

// A node's GPUs are lines of one chart; the list says the value of each, a choice of it highlights its line, and the table has the same values.
func TestNodeChart(t *testing.T) {
	p := openCharts(t)
	p.visit("/#/node?cluster=prod&node=n1")
	p.until(`document.querySelectorAll(".node-chart .chart-mark").length === 2`)
	assert.Contains(t, eval[string](p, `document.querySelectorAll(".node-chart .chart-mark")[1].textContent`), "GPU 0 XID 79")
	eval[any](p, `(() => {const s = document.querySelector(".node-chart select"); s.value = "Power"; s.dispatchEvent(new Event("change", {bubbles: true}))})()`)
	p.until(`document.querySelector(".node-chart .chart-plot")?.ariaLabel.startsWith("Power")`)
	var gpus []string
	latest := map[string]string{}
	third := map[string]string{}
	for _, g := range ask[view.Node](p, "nodes/prod/n1").GPUs {
		if g.Parent != nil {
			continue
		}
		name := fmt.Sprintf("GPU %d", *g.Index)
		points := ask[view.History](p, "devices/"+g.ID+"/history?metric=hw.power").Points
		require.Len(t, points, 31, g.ID)
		gpus = append(gpus, g.ID)
		latest[name], third[name] = watts(points[30].Value), watts(points[28].Value)
	}
	list := func() map[string]string {
		return eval[map[string]string](p, `Object.fromEntries([...document.querySelectorAll(".chart-list button")].map(b => [b.firstChild.textContent.trim(), b.querySelector("b").innerText]))`)
	}
	assert.Equal(t, gpus, eval[[]string](p, `[...document.querySelectorAll(".node-chart .spark-line")].map(l => l.dataset.id)`))
	assert.Equal(t, latest, list())
	eval[any](p, `document.querySelector(".node-chart .chart-plot").focus()`)
	p.key(kb.ArrowLeft + kb.ArrowLeft)
	same(p, "values at the cursor", func() map[string]string { return third }, list)
	eval[any](p, `document.querySelectorAll(".chart-list button")[1].click()`)
	p.until(`document.querySelector(".chart-chosen")?.dataset.id === "` + gpus[1] + `"`)
	assert.Equal(t, "true", eval[string](p, `document.querySelectorAll(".chart-list button")[1].ariaPressed`))
	eval[any](p, `document.querySelector(".node-chart details").open = true`)
	p.until(`document.querySelectorAll(".node-chart tbody tr").length === 31`)
	row := eval[map[string]string](p, `Object.fromEntries([...document.querySelectorAll(".node-chart tbody tr")[28].children].slice(1, -1).map(c => [c.dataset.title, c.innerText]))`)
	assert.Equal(t, third, row)
	for _, width := range []int64{390, 1440} {
		p.size(width, 900)
		assert.LessOrEqual(t, eval[int64](p, `document.documentElement.scrollWidth`), width)
		assert.Empty(t, breaches(p), width)
	}
}

// The link to Grafana has the cluster, node, GPU and time.
func TestGrafanaLink(t *testing.T) {
	reader := fleets.NewReader(viewtest.Snapshot())
	mux := http.NewServeMux()
	mux.Handle("/api/", fleets.Handler(reader))
	mux.Handle("/", page.New(page.Settings{GrafanaURL: "https://grafana.example/d/gpu?c={cluster}&n={node}&g={gpu}&name={name}&from={from}&to={to}"}))
	p := openHandler(t, reader, mux, "/#/gpu?id=GPU-n1-0")
	p.until(`document.querySelector("a.grafana")`)
	g := ask[view.GPUMetrics](p, "metrics/GPU-n1-0")
	address := func(from, to time.Time) string {
		name := eval[string](p, fmt.Sprintf("encodeURIComponent(%q)", or(g.Name, "")))
		return fmt.Sprintf("https://grafana.example/d/gpu?c=prod&n=n1&g=GPU-n1-0&name=%s&from=%d&to=%d", name, from.UnixMilli(), to.UnixMilli())
	}
	assert.Equal(t, address(g.LastSeen.Add(-time.Hour), g.LastSeen), eval[string](p, `document.querySelector("a.grafana").href`))
	assert.Contains(t, eval[string](p, `document.querySelector("a.grafana").rel`), "noopener")
	p.until(powerChart)
	eval[any](p, `document.querySelector('[data-reading="power"] button').click()`)
	p.until(`document.querySelector("dialog a.grafana")`)
	points := powerHistory(p, "1h")
	assert.Equal(t, address(points[0].Time, points[30].Time), eval[string](p, `document.querySelector("dialog a.grafana").href`))
	p.visit("/#/gpu?id=GPU-workstation-0") // outside clusters
	p.until(`document.querySelector("a.grafana")`)
	assert.Contains(t, eval[string](p, `document.querySelector("a.grafana").href`), "?c=&n=workstation&")
}
