// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestXMLThatIsNotWellFormed(t *testing.T) {
	for name, tt := range map[string]struct {
		elements string
		celsius  gpu.Opt[float64]
	}{
		"element not closed":   {"<temperature><gpu_temp>50 C</temperature>", gpu.Opt[float64]{}},
		"closed twice":         {"<temperature><gpu_temp>50 C</gpu_temp></gpu_temp></temperature></temperature>", gpu.Some(50.0)},
		"wrong order":          {"<temperature><gpu_temp>50 C</temperature></gpu_temp>", gpu.Opt[float64]{}},
		"spaces in tags":       {"<temperature ><gpu_temp >50 C</gpu_temp ></temperature >", gpu.Some(50.0)},
		"comment":              {"<temperature><!-- <gpu_temp>1 C</gpu_temp> --><gpu_temp>50 C</gpu_temp></temperature>", gpu.Some(50.0)},
		"declaration":          {"<!x gpu_temp><temperature><gpu_temp>50 C</gpu_temp></temperature>", gpu.Some(50.0)},
		"capitals":             {"<X><temperature><gpu_temp>1 C</gpu_temp></temperature></X><_x/><temperature><gpu_temp>50 C</gpu_temp></temperature>", gpu.Some(50.0)},
		"instruction":          {"<?x <gpu_temp> ?><temperature><gpu_temp>50 C</gpu_temp></temperature>", gpu.Some(50.0)},
		"text between":         {"warning: x < y<temperature>text<gpu_temp>50 C</gpu_temp></temperature>", gpu.Some(50.0)},
		"unknown around":       {"<sensors><temperature><gpu_temp>1 C</gpu_temp></temperature></sensors>", gpu.Opt[float64]{}},
		"unknown in itself":    {"<x><x a=\"b\"><temperature></x></x><temperature><gpu_temp>50 C</gpu_temp></temperature>", gpu.Some(50.0)},
		"unknown like another": {"<gpu_tempest>1</gpu_tempest><temperature><gpu_temps>1 C</gpu_temps><gpu_temp>50 C</gpu_temp></temperature>", gpu.Some(50.0)},
		"element in a number":  {"<temperature><gpu_temp>50 C<b/></gpu_temp></temperature>", gpu.Opt[float64]{}},
		"empty":                {"<temperature/>", gpu.Opt[float64]{}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.celsius, oneGPU(t, tt.elements).Device.Temperature[gpu.SensorGPU])
		})
	}
}

func TestXMLWithTheWholeDTD(t *testing.T) {
	data := strings.Replace(string(gpuXML("<fan_speed>5 %</fan_speed>")), "<nvidia_smi_log>",
		"<!DOCTYPE nvidia_smi_log [\n<!ELEMENT nvidia_smi_log (gpu+)>\n<!ELEMENT gpu (#PCDATA)>\n]>\n<nvidia_smi_log>", 1)
	log, err := XML([]byte(data))
	require.NoError(t, err)
	require.Len(t, log.GPUs, 1)
	assert.Len(t, log.GPUs[0].Device.Fans, 1)
}

func TestXMLGarbage(t *testing.T) {
	for _, s := range []string{"", "<", "<nvidia_smi", "nvidia-smi: command not found", "{\"gpu\": []}", "\x00\x01\x02"} {
		_, err := XML([]byte(s))
		require.ErrorContains(t, err, "no nvidia_smi_log")
	}
	_, err := XML([]byte("NVIDIA-SMI has failed" + strings.Repeat(" and so on", 1000)))
	require.Error(t, err)
	assert.Less(t, len(err.Error()), 300, "the error holds the whole output")
}

func TestTrapSameNameUnderDifferentParents(t *testing.T) {
	g := oneGPU(t, `<gpu_power_readings><average_power_draw>100.00 W</average_power_draw><instant_power_draw>110.00 W</instant_power_draw>
<current_power_limit>300.00 W</current_power_limit><requested_power_limit>350.00 W</requested_power_limit></gpu_power_readings>
<gpu_memory_power_readings><average_power_draw>20.00 W</average_power_draw><instant_power_draw>21.00 W</instant_power_draw></gpu_memory_power_readings>
<module_power_readings><average_power_draw>200.00 W</average_power_draw><current_power_limit>900.00 W</current_power_limit></module_power_readings>
<fb_memory_usage><total>100 MiB</total></fb_memory_usage><bar1_memory_usage><total>200 MiB</total></bar1_memory_usage>
<cc_protected_memory_usage><total>300 MiB</total></cc_protected_memory_usage>
<clocks><sm_clock>1 MHz</sm_clock></clocks><max_clocks><sm_clock>2 MHz</sm_clock></max_clocks>
<applications_clocks><graphics_clock>3 MHz</graphics_clock></applications_clocks>`)
	assert.Equal(t, gpu.Some(100.0), g.Device.Power.Draw)
	assert.Equal(t, gpu.Some(110.0), g.Device.Power.Instant)
	assert.Equal(t, gpu.Some(200.0), g.Device.Power.Module)
	assert.Equal(t, gpu.Some(300.0), g.Device.Power.Limit[gpu.LimitEnforced])
	assert.Equal(t, gpu.Some(int64(100<<20)), g.Device.Memory.Limit)
	assert.False(t, g.Device.Memory.Protected.Known())
	assert.Equal(t, gpu.Clock{Speed: gpu.Some(1e6), Limit: gpu.Some(2e6)}, g.Device.Clocks[gpu.ClockSM])
	assert.Equal(t, gpu.Clock{}, g.Device.Clocks[gpu.ClockGraphics])
}

func TestTrapDoctypeIsNotEnough(t *testing.T) {
	old := oneGPU(t, `<clocks_throttle_reasons><clocks_throttle_reason_sw_power_cap>Active</clocks_throttle_reason_sw_power_cap></clocks_throttle_reasons>
<power_readings><power_draw>50.00 W</power_draw><power_limit>80.00 W</power_limit><enforced_power_limit>70.00 W</enforced_power_limit></power_readings>`)
	renamed := oneGPU(t, `<clocks_event_reasons><clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap></clocks_event_reasons>
<gpu_power_readings><power_draw>50.00 W</power_draw><requested_power_limit>80.00 W</requested_power_limit><current_power_limit>70.00 W</current_power_limit></gpu_power_readings>`)
	assert.Equal(t, old, renamed)
	assert.Equal(t, gpu.Some(50.0), old.Device.Power.Draw)
	assert.Equal(t, gpu.Some(70.0), old.Device.Power.Limit[gpu.LimitEnforced])
	assert.Equal(t, gpu.Some(true), old.Device.Throttle[gpu.ThrottleSWPowerCap].Active)
}

func TestTrapTextInThePlaceOfATree(t *testing.T) {
	g := oneGPU(t, "<remapped_rows>N/A</remapped_rows><retired_pages>N/A</retired_pages><mig_devices>\n\t\tNone\n\t</mig_devices>"+
		"<clocks_event_reasons_counters>N/A</clocks_event_reasons_counters><processes>N/A</processes><ecc_errors>Unknown Error</ecc_errors>")
	assert.Equal(t, gpu.RemappedRows{}, g.Device.RemappedRows)
	assert.Empty(t, g.MIGDevices)
	assert.Equal(t, []Refusal{{Quantity: "ecc_errors", Reason: "Unknown Error"}}, g.Refusals)
}

func TestTrapSupportedClocksAreSkipped(t *testing.T) {
	g := oneGPU(t, "<supported_clocks><supported_mem_clock><value>1 MHz</value><clocks><sm_clock>9 MHz</sm_clock></clocks></supported_mem_clock></supported_clocks>"+
		"<clocks><sm_clock>5 MHz</sm_clock></clocks>")
	assert.Equal(t, gpu.Some(5e6), g.Device.Clocks[gpu.ClockSM].Speed)
}

// A comment or a declaration that is not closed hides what follows it.
func TestXMLUnclosedComment(t *testing.T) {
	for name, want := range map[string]int{"<!-- a > b -->": 1, "<!-- a > b": 0, "<?a?>": 1, "<?a": 0} {
		listing, err := XML([]byte("<nvidia_smi_log>" + name + "<gpu id=\"00000000:07:00.0\"><uuid>GPU-1</uuid></gpu></nvidia_smi_log>"))
		require.NoError(t, err)
		assert.Len(t, listing.GPUs, want, name)
	}
}
