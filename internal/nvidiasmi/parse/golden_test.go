// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

var update = flag.Bool("update", false, "write the golden files")

// description lists every value of a listing, one on each line. An absent value has no line.
type description struct{ strings.Builder }

func (d *description) add(name string, value any, known bool) {
	if known && value != "" {
		_, _ = fmt.Fprintf(d, "%s %v\n", name, value)
	}
}

func opt[T any](d *description, name string, o gpu.Opt[T]) {
	v, ok := o.Get()
	d.add(name, v, ok)
}

func total[N gpu.Number](d *description, name string, c gpu.Counter[N]) {
	v, ok := c.Get()
	d.add(name, v, ok)
}

func describe(listing *Listing) string {
	d := &description{}
	d.add("driver", listing.DriverVersion, true)
	opt(d, "attached", listing.Attached)
	d.add("complete", listing.Complete, true)
	d.add("dropped", listing.Dropped, listing.Dropped > 0)
	for i := range listing.GPUs {
		d.WriteByte('\n')
		describeGPU(d, &listing.GPUs[i])
	}
	return d.String()
}

func describeGPU(d *description, g *GPU) {
	v := &g.Device
	d.add("id", v.ID, true)
	d.add("model", v.Model, true)
	d.add("pci", v.Info.PCIAddress, true)
	d.add("serial", v.Info.Serial, true)
	d.add("firmware", v.Info.FirmwareVersion, true)
	d.add("capability", v.Info.ComputeCapability, true)
	for name, text := range infoTexts(&v.Info) {
		d.add(name, text, true)
	}
	opt(d, "index", v.Index)
	opt(d, "minor", g.Minor)
	opt(d, "mig", g.MIGEnabled)
	for i, u := range v.Utilization {
		opt(d, fmt.Sprintf("utilization[%d]", i), u)
	}
	opt(d, "memory controller", v.MemoryController)
	describeMemory(d, "memory", v.Memory)
	for s := range v.Temperature {
		opt(d, fmt.Sprintf("temperature[%d]", s), v.Temperature[s])
		for l := range v.TemperatureLimit[s] {
			opt(d, fmt.Sprintf("temperature limit[%d][%d]", s, l), v.TemperatureLimit[s][l])
		}
	}
	for l := range v.TemperatureMargin {
		opt(d, fmt.Sprintf("temperature margin[%d]", l), v.TemperatureMargin[l])
		opt(d, fmt.Sprintf("power limit[%d]", l), v.Power.Limit[l])
	}
	opt(d, "power", v.Power.Draw)
	opt(d, "power instant", v.Power.Instant)
	opt(d, "power module", v.Power.Module)
	opt(d, "power memory", v.Power.Memory)
	for _, sensor := range v.Voltage {
		opt(d, "voltage "+sensor.Location, sensor.Value)
	}
	for c := range v.Clocks {
		opt(d, fmt.Sprintf("clock[%d]", c), v.Clocks[c].Speed)
		opt(d, fmt.Sprintf("clock limit[%d]", c), v.Clocks[c].Limit)
	}
	for r := range v.Throttle {
		opt(d, fmt.Sprintf("throttled[%d]", r), v.Throttle[r].Active)
		total(d, fmt.Sprintf("throttle time[%d]", r), v.Throttle[r].Time)
	}
	opt(d, "pstate", v.PerformanceState)
	for _, f := range v.Fans {
		opt(d, f.Location, f.Ratio)
	}
	opt(d, "pcie generation", v.PCIe.Generation)
	opt(d, "pcie generation limit", v.PCIe.GenerationLimit)
	opt(d, "pcie width", v.PCIe.Width)
	opt(d, "pcie width limit", v.PCIe.WidthLimit)
	total(d, "pcie replays", v.PCIe.Replays)
	total(d, "pcie rollovers", v.PCIe.ReplayRollovers)
	for _, e := range v.Errors {
		total(d, fmt.Sprintf("errors[%d] lifetime=%t", e.Type, e.Lifetime), e.Count)
	}
	for memory := range v.ECC.Memory {
		for kind, n := range v.ECC.Memory[memory] {
			total(d, fmt.Sprintf("errors[%d] memory=%d", kind, memory), n)
		}
	}
	for _, e := range v.ECC.Locations {
		total(d, fmt.Sprintf("errors[%d] location=%d", e.Type, e.Location), e.Count)
	}
	opt(d, "sram threshold exceeded", v.ECC.SRAMThresholdExceeded)
	for spares, n := range v.MemoryBanks {
		opt(d, fmt.Sprintf("banks[%d]", spares), n)
	}
	total(d, "remapped corrected", v.RemappedRows.Corrected)
	total(d, "remapped uncorrected", v.RemappedRows.Uncorrected)
	opt(d, "remap pending", v.RemappedRows.Pending)
	opt(d, "remap failed", v.RemappedRows.Failed)
	total(d, "retired corrected", v.RetiredPages.Corrected)
	total(d, "retired uncorrected", v.RetiredPages.Uncorrected)
	opt(d, "retire pending", v.RetiredPages.Pending)
	opt(d, "recovery", v.RecoveryAction)
	describeFabric(d, &v.Fabric)
	describeSessions(d, "encoder", &v.Encoder)
	describeSessions(d, "capture", &v.FrameBuffer)
	for m, mode := range v.Modes {
		d.add(fmt.Sprintf("mode[%d]", m), mode.Value, true)
		opt(d, fmt.Sprintf("mode[%d] pending", m), mode.Pending)
	}
	opt(d, "licensed", v.VGPULicensed)
	for _, f := range v.Faults {
		d.add(fmt.Sprintf("fault[%d]", f.Type), f.Message, true)
	}
	for _, r := range g.Refusals {
		d.add("refused "+r.Quantity, r.Reason, true)
	}
	for i := range g.MIGDevices {
		m := &g.MIGDevices[i]
		opt(d, "instance", m.Index)
		opt(d, "  gi", m.GI)
		opt(d, "  ci", m.CI)
		opt(d, "  multiprocessors", m.Multiprocessors)
		opt(d, "  uncorrected", m.Uncorrected)
		describeMemory(d, "  memory", m.Memory)
	}
	for _, p := range g.Processes {
		describeProcess(d, p)
	}
}

// infoTexts yields the texts of a GPU that its other tests do not compare.
func infoTexts(i *gpu.Info) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, t := range [][2]string{
			{"part number", i.BoardPartNumber},
			{"brand", i.Brand},
			{"architecture", i.Architecture},
			{"inforom", i.InfoROMVersion},
			{"cuda", i.CUDAVersion},
			{"c2c", i.C2CMode},
			{"clique", i.FabricClique},
			{"cluster", i.FabricCluster},
		} {
			if !yield(t[0], t[1]) {
				return
			}
		}
	}
}

func describeFabric(d *description, f *gpu.Fabric) {
	opt(d, "fabric", f.State)
	d.add("fabric failure", f.Failure, true)
	for c, holds := range f.Conditions {
		opt(d, fmt.Sprintf("fabric condition[%d]", c), holds)
	}
}

func describeSessions(d *description, name string, s *gpu.Sessions) {
	opt(d, name+" sessions", s.Count)
	opt(d, name+" frame rate", s.FrameRate)
	opt(d, name+" latency", s.Latency)
}

func describeMemory(d *description, name string, m gpu.Memory) {
	opt(d, name+" limit", m.Limit)
	opt(d, name+" usage", m.Usage)
	opt(d, name+" reserved", m.Reserved)
	opt(d, name+" protected", m.Protected)
	opt(d, name+" bar1 limit", m.BAR1Limit)
	opt(d, name+" bar1 usage", m.BAR1Usage)
}

func describeProcess(d *description, p Process) {
	executable, command := Executable(p.Name)
	d.add("process", p.PID, true)
	d.add("  gpu", p.UUID, true)
	opt(d, "  index", p.Index)
	d.add("  type", p.Type, true)
	d.add("  executable", executable, true)
	d.add("  command", command, command != executable)
	opt(d, "  memory", p.Memory)
	opt(d, "  gi", p.GI)
	opt(d, "  ci", p.CI)
	for i, u := range p.Utilization {
		opt(d, fmt.Sprintf("  utilization[%d]", i), u)
	}
}

// golden compares text with a golden file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name+".golden")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

// TestXMLDialects reads an output of every form since driver 384 and compares the result with golden files. If a driver printed the form,
// it also compares the result with the elements.
func TestXMLDialects(t *testing.T) {
	for _, file := range own(t, "xml") {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			data := load(t, file)
			log, err := XML(data)
			require.NoError(t, err)
			golden(t, name, describe(log))
			if name != "lost.xml" && name != "v14-future.xml" {
				checkXML(t, parseXML(t, data), log)
			}
		})
	}
}

var csvExample = []string{
	"index", "uuid", "name", "temperature.gpu", "utilization.gpu", "utilization.memory", "memory.total", "memory.used",
	"memory.free", "power.draw", "power.limit", "pcie.link.gen.current", "pcie.link.width.current",
}

func TestTables(t *testing.T) {
	for _, name := range []string{"465.csv", "595.csv", "610.csv", "lost.csv", "noheader-nounits.csv"} {
		t.Run(name, func(t *testing.T) {
			log, ok := QueryGPU(testdata(t, "csv/"+name), csvExample)
			require.True(t, ok)
			golden(t, name, describe(log))
		})
	}
}

func TestProcessTables(t *testing.T) {
	d := &description{}
	apps, ok, dropped := ComputeApps(testdata(t, "csv/apps.csv"), nil)
	require.True(t, ok)
	assert.Zero(t, dropped)
	for _, p := range apps {
		describeProcess(d, p)
	}
	golden(t, "apps.csv", d.String())

	for _, file := range own(t, "pmon") {
		d := &description{}
		m, err := Pmon(load(t, file))
		require.NoError(t, err)
		assert.Zero(t, m.Dropped)
		for _, p := range m.Processes {
			describeProcess(d, p)
		}
		golden(t, "pmon-"+strings.TrimSuffix(filepath.Base(file), ".txt"), d.String())
	}
}
