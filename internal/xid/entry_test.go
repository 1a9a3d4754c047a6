// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package xid

import (
	"encoding/csv"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// lines reads the catalogue as a whole.
func lines(t *testing.T) [][]string {
	t.Helper()
	r := csv.NewReader(strings.NewReader(catalogue))
	r.Comment = '#'
	all, err := r.ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"code", "name", "bucket", "severity", "cause", "follows", "meaning"}, all[0])
	return all[1:]
}

// Each line is complete, and Lookup finds it.
func TestCatalogue(t *testing.T) {
	name := regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)
	last, codes, entries := int64(0), []string{}, []Entry{}
	for _, line := range lines(t) {
		codes = append(codes, line[0])
		code, err := strconv.ParseInt(line[0], 10, 64)
		require.NoError(t, err)
		assert.Greater(t, code, last, "in order, and each once")
		last = code
		assert.Regexp(t, name, line[1])
		if bucket := line[2]; bucket != "" {
			assert.Contains(t, actions, bucket, "%d", code)
		}
		assert.Contains(t, severities, line[3], "%d", code)
		assert.Contains(t, causes, line[4], "%d", code)
		assert.NotEmpty(t, line[6], "%d", code)
		assert.NotRegexp(t, `\.$|^[A-Z][a-z]`, line[6], "%d: it stands within a sentence", code)
		e, ok := Lookup(code)
		require.True(t, ok, "%d", code)
		assert.Equal(t, Entry{
			Code: code, Name: line[1], Meaning: line[6], Severity: severities[line[3]], Cause: causes[line[4]], Action: actionOf(code, line[2]), follows: line[5],
		}, e)
		entries = append(entries, e)
	}
	for _, line := range lines(t) {
		for earlier := range strings.FieldsSeq(line[5]) {
			assert.True(t, earlier == followsAny || slices.Contains(codes, earlier), "%s follows %s", line[0], earlier)
			assert.NotEqual(t, line[0], earlier)
		}
	}
	assert.GreaterOrEqual(t, len(codes), 150)
	assert.Equal(t, entries, Entries())
}

// What people act on, by hand.
func TestLookup(t *testing.T) {
	tests := []struct {
		code     int64
		name     string
		action   string
		severity Severity
	}{
		{13, "ROBUST_CHANNEL_GR_EXCEPTION", "restart_app", SeverityWarning},
		{31, "ROBUST_CHANNEL_FIFO_ERROR_MMU_ERR_FLT", "restart_app", SeverityWarning},
		{43, "ROBUST_CHANNEL_RESETCHANNEL_VERIF_ERROR", "ignore", SeverityWarning},
		{45, "ROBUST_CHANNEL_PREEMPTIVE_REMOVAL", "follow_workflow", SeverityInfo},
		{48, "ROBUST_CHANNEL_GPU_ECC_DBE", "reset_gpu", SeverityError},
		{63, "INFOROM_DRAM_RETIREMENT_EVENT", "reset_gpu", SeverityWarning},
		{64, "INFOROM_DRAM_RETIREMENT_FAILURE", "reset_gpu", SeverityError},
		{79, "ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS", "restart_bm", SeverityFatal},
		{94, "ROBUST_CHANNEL_CONTAINED_ERROR", "restart_app", SeverityError},
		{95, "ROBUST_CHANNEL_UNCONTAINED_ERROR", "reset_gpu", SeverityError},
		{119, "GSP_RPC_TIMEOUT", "reset_gpu", SeverityError},
		{154, "GPU_RECOVERY_ACTION_CHANGED", "follow_recovery_action", SeverityInfo},
		{16, "ROBUST_CHANNEL_VBLANK_CALLBACK_TIMEOUT", "", SeverityError}, // of older GPUs: without an action
	}
	for _, test := range tests {
		e, ok := Lookup(test.code)
		require.True(t, ok, "%d", test.code)
		assert.Equal(t, test.name, e.Name)
		assert.Equal(t, test.action, e.Action.Name, "%d", test.code)
		assert.Equal(t, test.severity, e.Severity, "%d", test.code)
	}
	for _, unknown := range []int64{-1, 0, 5, 173, 999, 1 << 40} {
		e, ok := Lookup(unknown)
		assert.False(t, ok, "%d", unknown)
		assert.Zero(t, e, "%d", unknown)
	}
}

// What the driver asks for counts more than that nothing needs to be done, and less than any other action.
func TestActionOfText(t *testing.T) {
	for _, test := range []struct {
		code int64
		text string
		want string
	}{
		{160, "", "ignore"},
		{160, "HBM channel retirement, Node Reboot Required", "restart_bm"},
		{161, "GPU Reset Required", "reset_gpu"},
		{92, "Drain and Reset", "drain_and_reset"},
		{63, "Row Remapper: New row marked for remapping, reset gpu to activate.", "reset_gpu"},
		{13, "Node Reboot Required", "restart_app"},
		{16, "Node Reboot Required", ""},
	} {
		e, ok := Lookup(test.code)
		require.True(t, ok, "%d", test.code)
		assert.Equal(t, test.want, e.Read(test.text).Action.Name, "%d %s", test.code, test.text)
	}
}

// The driver's text decides on a fatal error of a link, and on what the driver asks for now.
func TestRead(t *testing.T) {
	read := func(code int64, text string) Reading {
		e, ok := Lookup(code)
		require.True(t, ok)
		r := e.Read(text)
		again := e.Read(r.Words)
		require.Equal(t, r, again, "the words alone say the same")
		return r
	}
	workflow := actions["WORKFLOW_NVLINK5_ERR"]
	for text, want := range map[string]Reading{
		"RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 (0x040868e2 0x00000000)": {
			SeverityWarning, workflow, "RLW_SRC_TRACK Nonfatal XC1 i0 Link 03", gpu.Some[int64](3), gpu.Some(false), gpu.Some(false), gpu.Opt[gpu.RecoveryAction]{}, "",
		},
		"NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x1)": {
			SeverityError, workflow, "NETIR_LINK_EVT  Fatal   XC0 i0 Link 01", gpu.Some[int64](1), gpu.Some(true), gpu.Some(false), gpu.Opt[gpu.RecoveryAction]{}, "",
		},
		"NETIR_LINK_EVT  Fatal   XC0 i1 Link 17 (0x1)": {
			SeverityError, workflow, "NETIR_LINK_EVT  Fatal   XC0 i1 Link 17", gpu.Some[int64](17), gpu.Some(true), gpu.Some(true), gpu.Opt[gpu.RecoveryAction]{}, "",
		},
		"NETIR_BER_EVENT Nonfatal XC0 i0 Link -1 (0x1)": {
			SeverityWarning, workflow, "NETIR_BER_EVENT Nonfatal XC0 i0 Link -1", gpu.Opt[int64]{}, gpu.Some(false), gpu.Some(false), gpu.Opt[gpu.RecoveryAction]{}, "",
		},
		"Fatal, in other words": {Severity: SeverityError, Action: workflow},
		"":                      {Severity: SeverityError, Action: workflow},
	} {
		assert.Equal(t, want, read(149, text), text)
	}
	e, _ := Lookup(79)
	assert.Equal(t, Reading{Severity: SeverityFatal, Action: e.Action}, e.Read("NETIR_LINK_EVT Nonfatal XC0 i0 Link 01"), "of 144 to 150 only")

	const changed = "GPU recovery action changed from 0x4 (Drain and Reset) to 0x1 (GPU Reset Required)"
	for text, want := range map[string]Reading{
		changed: {
			Severity: SeverityError, Action: actions["RESET_GPU"], Words: "to 0x1 (GPU Reset Required)", Recovery: gpu.Some(gpu.RecoveryReset),
		},
		"changed from 0x0 (None) to 0x2 (Node Reboot Required)": {
			Severity: SeverityFatal, Action: actions["RESTART_BM"], Words: "to 0x2 (Node Reboot Required)", Recovery: gpu.Some(gpu.RecoveryReboot),
		},
		"changed from 0x0 (None) to 0x3 (Drain P2P)": {
			Severity: SeverityWarning, Action: actions["XID_154"], Words: "to 0x3 (Drain P2P)", Recovery: gpu.Some(gpu.RecoveryDrainP2P),
		},
		"changed from 0x0 (None) to 0x4 (Drain and Reset)": {
			Severity: SeverityWarning, Action: drainAndReset, Words: "to 0x4 (Drain and Reset)", Recovery: gpu.Some(gpu.RecoveryDrainAndReset),
		},
		"changed from 0x1 (GPU Reset Required) to 0x0 (None)": {
			Severity: SeverityInfo, Action: actions["IGNORE"], Words: "to 0x0 (None)", Recovery: gpu.Some(gpu.RecoveryNone),
		},
		"changed from 0x0 (None) to 0x9 (Restart VM)": {
			Severity: SeverityWarning, Action: actions["XID_154"], Words: "to 0x9 (Restart VM)", Recovery: gpu.Some(gpu.RecoveryOther), RecoveryWord: "Restart VM",
		},
		"": {Severity: SeverityInfo, Action: actions["XID_154"]},
	} {
		assert.Equal(t, want, read(154, text), text)
	}
}

// The severity is the severity of the bucket, except for the codes of this list.
func TestSeverities(t *testing.T) {
	ofBucket := map[string]Severity{
		"IGNORE": SeverityWarning, "RESTART_APP": SeverityWarning, "CONTACT_SUPPORT": SeverityWarning, "RESTART_BM": SeverityFatal,
		"RESET_GPU": SeverityError, "RESTART_VM": SeverityError, "UPDATE_SWFW": SeverityError, "CHECK_MECHANICALS": SeverityError,
		"CHECK_UVM": SeverityError, "WORKFLOW_XID_48": SeverityError, "WORKFLOW_NVLINK_ERR": SeverityError, "WORKFLOW_NVLINK5_ERR": SeverityError,
		"WORKFLOW_XID_45": SeverityInfo, "XID_154": SeverityInfo,
	}
	exceptions := map[string]Severity{"14": SeverityInfo, "106": SeverityInfo, "107": SeverityInfo, "94": SeverityError}
	for _, line := range lines(t) {
		want, ok := ofBucket[line[2]]
		if !ok {
			require.Empty(t, line[2])
			continue
		}
		if other, is := exceptions[line[0]]; is {
			want = other
		}
		assert.Equal(t, want, severities[line[3]], line[0])
	}
}

// What programs cause themselves needs no reset and no repair.
func TestCauses(t *testing.T) {
	codes := map[Cause][]int64{}
	for _, e := range Entries() {
		codes[e.Cause] = append(codes[e.Cause], e.Code)
		if e.Cause == CauseProgram {
			assert.Equal(t, SeverityWarning, e.Severity, "%d", e.Code)
			assert.Contains(t, []string{"restart_app", "ignore"}, e.Action.Name, "%d", e.Code)
		}
	}
	assert.Equal(t, []int64{14, 106, 107}, codes[CauseTest])
	assert.Subset(t, codes[CauseProgram], []int64{11, 13, 31, 43, 68, 69, 83, 137})
	assert.Subset(t, codes[CauseOther], []int64{8, 32, 45, 48, 63, 74, 79, 80, 92, 94, 109, 162})
}

// What follows from what, and what does not.
func TestFollows(t *testing.T) {
	follows := func(code, earlier int64) bool {
		e, ok := Lookup(code)
		require.True(t, ok)
		return e.Follows(earlier)
	}
	for _, pair := range [][2]int64{{63, 48}, {63, 94}, {64, 95}, {154, 79}, {154, 48}, {45, 13}, {45, 31}, {45, 95}, {171, 48}, {172, 48}, {48, 144}} {
		assert.True(t, follows(pair[0], pair[1]), "%v", pair)
	}
	for _, pair := range [][2]int64{
		{48, 63}, {79, 48}, {154, 13}, {154, 154}, {45, 45}, {45, 154}, {45, 106}, {45, 999}, {31, 13}, {43, 13}, {63, 4}, {63, 8},
	} {
		assert.False(t, follows(pair[0], pair[1]), "%v", pair)
	}
}

// Every action has words for both.
func TestActions(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	for bucket, action := range actions {
		assert.Regexp(t, name, action.Name, bucket)
		assert.NotEmpty(t, action.Advice, bucket)
		assert.NotRegexp(t, `\.$`, action.Advice, bucket)
	}
}
