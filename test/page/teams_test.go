package page

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// The team that wastes most is first, with its GPU-hours since the start of the collector, and leads to its GPUs. A workload does, too.
func TestTeams(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/#/teams")
	// By hand: 7,200 s held and 1,800 s idle, of GPU-n1-0 (busy) and GPU-n1-1 (idle); 3.6 MJ are 1 kWh. GPU-n1-2 is used without being held.
	assert.Equal(t, []string{"ml", "prod", "2", "2", "1 idle", "2.0", "0.5", "640 W", "1 kWh"}, rows(p)[0])
	assert.Contains(t, p.text("main"), "counted since")
	eval[any](p, `document.querySelector("main tbody a").click()`)
	p.until(`document.querySelector("main h1")?.innerText === "GPUs" && document.querySelectorAll("main tbody tr").length === 3`)
	p.visit("/#/workloads")
	p.until(`document.querySelector("main tbody tr")`)
	eval[any](p, `[...document.querySelectorAll("main tbody a")].find(a => a.innerText.includes("train")).click()`)
	p.until(`document.querySelector("main h1")?.innerText === "GPUs" && document.querySelectorAll("main tbody tr").length === 2`)
}
