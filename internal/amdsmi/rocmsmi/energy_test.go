// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
)

func TestEnergyWraps(t *testing.T) {
	t.Parallel()
	shown := 0.0
	s := newTestSource(&smitest.Tool{Answer: func(args string) (command.Result, error) {
		if !strings.HasPrefix(args, "--json") {
			return smitest.Prints("")
		}
		return smitest.Prints(fmt.Sprintf(`{"card0": {"Unique ID": "0xc", "GFX Version": "gfx90a", "PCI Bus": "0000:03:00.0", "Max Graphics Package Power (W)": "300.0",`+
			`"Average Graphics Package Power (W)": "299.0", "Accumulated Energy (uJ)": "%.2f"}}`, shown*1e6))
	}})
	smitest.EnergyWraps(t, s, func(joules float64) { shown = joules })
}

// A GPU that was asleep or lost had no power: a lower counter afterwards is not a wrap. A GPU whose energy alone was not read once has
// continued to count.
func TestEnergyOfWhatWasAway(t *testing.T) {
	t.Parallel()
	const other = `"card1": {"Unique ID": "0xd", "PCI Bus": "0000:04:00.0", "Average Graphics Package Power (W)": "40.0"}`
	card := func(power, energy string) string {
		return fmt.Sprintf(`"card0": {"Unique ID": "0xc", "GFX Version": "gfx90a", "PCI Bus": "0000:03:00.0", "Max Graphics Package Power (W)": "300.0",`+
			`"Average Graphics Package Power (W)": %q, "Accumulated Energy (uJ)": %q}, `, power, energy)
	}
	for between, c := range map[string]struct {
		text  string
		reset bool
	}{
		"asleep":         {"{" + card("N/A", "N/A") + other + "}", true},
		"lost":           {"{" + other + "}", true},
		"without driver": {"ERROR:root:Driver not initialized (amdgpu not found in modules)", true},
		"only that":      {"{" + card("200.0", "N/A") + other + "}", false},
	} {
		t.Run(between, func(t *testing.T) {
			t.Parallel()
			text := ""
			s := newTestSource(&smitest.Tool{Answer: func(args string) (command.Result, error) {
				if !strings.HasPrefix(args, "--json") {
					return smitest.Prints("")
				}
				return smitest.Prints(text)
			}})
			for i, read30s := range []string{"{" + card("200.0", "60000000000") + other + "}", c.text, "{" + card("200.0", "40000000") + other + "}"} {
				text = read30s
				energy := smitest.Device(t, smitest.Read(t, s), "000000000000000c").Energy
				assert.Equal(t, i == 0 || i == 2 && !c.reset, energy.Known(), "read %d", i)
			}
		})
	}
}
