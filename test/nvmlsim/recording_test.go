//go:build linux && cgo

package nvmlsim_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// recorded returns the lines of a table of the recorded H200, by columns.
func recorded(t *testing.T, name string) (lines [][]string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../../testdata/recordings/h200-580.159.04", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		}
	}
	return lines
}

// startH200 starts the scenario of the recorded H200. It returns the counters with which the calls of a test begin at 0.
func startH200(t *testing.T) (nvml.Device, *nvmlsim.Counters) {
	t.Helper()
	path, err := nvmlsim.ScenarioFile("h200")
	if err != nil {
		t.Fatal(err)
	}
	nvmlsim.UseFile(t, path)
	d := device(t, initialise(t), 0)
	counters, err := nvmlsim.OpenCounters(library(t).Full)
	if err != nil {
		t.Fatal(err)
	}
	counters.Reset()
	return d, counters
}

// changing are the recorded fields whose values change on an idle GPU.
var changing = map[uint32]bool{
	nvml.FI_DEV_TOTAL_ENERGY_CONSUMPTION: true, nvml.FI_DEV_ENERGY: true, nvml.FI_DEV_PERF_POLICY_LOW_UTILIZATION: true,
	nvml.FI_DEV_PERF_POLICY_TOTAL_APP_CLOCKS: true, nvml.FI_DEV_PERF_POLICY_TOTAL_BASE_CLOCKS: true,
	nvml.FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER: true, nvml.FI_DEV_PCIE_COUNT_TX_BYTES: true, nvml.FI_DEV_PCIE_COUNT_RX_BYTES: true,
}

// Each field of the simulated H200 has the return code, the type, the value and the cost that were recorded.
func TestRecordedFields(t *testing.T) {
	d, counters := startH200(t)
	lines := recorded(t, "fields.tsv")
	for _, f := range lines {
		id, err := strconv.ParseUint(f[0], 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		field := []nvml.FieldValue{{FieldId: uint32(id)}}
		counters.Reset()
		want(t, "GetFieldValues", d.GetFieldValues(field), nvml.SUCCESS)
		want(t, f[1]+" return code", strconv.Itoa(int(field[0].NvmlReturn)), f[3])
		micros, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		const factor = 0.52 // of the scenario
		want(t, f[1]+" cost", counters.DriverTime("nvmlDeviceGetFieldValues"), time.Duration(micros*factor*1000+0.5))
		if field[0].NvmlReturn != uint32(nvml.SUCCESS) {
			continue
		}
		if field[0].FieldId != nvml.FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT { // which the driver left without a type
			want(t, f[1]+" type", strconv.FormatUint(uint64(field[0].ValueType), 10), f[4])
		}
		if !changing[field[0].FieldId] {
			want(t, f[1]+" value", strconv.FormatUint(binary.NativeEndian.Uint64(field[0].Value[:]), 10), f[5])
		}
	}
	want(t, "fields", len(lines), 289)
}

// A function that answered when it was recorded answers, and costs the same.
func TestRecordedFunctions(t *testing.T) {
	d, counters := startH200(t)
	costs := map[string]float64{}
	for _, f := range recorded(t, "nvml-calls.tsv") {
		costs[f[0]], _ = strconv.ParseFloat(f[2], 64)
	}
	for function, call := range map[string]func() nvml.Return{
		"nvmlDeviceGetMigMode":              func() nvml.Return { _, _, ret := d.GetMigMode(); return ret },
		"nvmlDeviceGetMarginTemperature":    func() nvml.Return { _, ret := d.GetMarginTemperature(); return ret },
		"nvmlDeviceGetRepairStatus":         func() nvml.Return { _, ret := d.GetRepairStatus(); return ret },
		"nvmlDeviceGetSramEccErrorStatus":   func() nvml.Return { _, ret := d.GetSramEccErrorStatus(); return ret },
		"nvmlDeviceGetC2cModeInfoV":         func() nvml.Return { _, ret := d.GetC2cModeInfoV().V1(); return ret },
		"nvmlDeviceGetEncoderUtilization":   func() nvml.Return { _, _, ret := d.GetEncoderUtilization(); return ret },
		"nvmlDeviceGetNumFans":              func() nvml.Return { _, ret := d.GetNumFans(); return ret },
		"nvmlDeviceGetVirtualizationMode":   func() nvml.Return { _, ret := d.GetVirtualizationMode(); return ret },
		"nvmlDeviceGetRowRemapperHistogram": func() nvml.Return { _, ret := d.GetRowRemapperHistogram(); return ret },
	} {
		want(t, function, call(), nvml.SUCCESS)
		want(t, function+" cost", counters.DriverTime(function), time.Duration(costs[function]*1000+0.5))
	}
}
