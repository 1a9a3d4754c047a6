// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package xid

// Action is what to do first.
type Action struct {
	Name   string // hw.gpu.recommended_action
	Advice string // for people, without a full stop
}

// actions are the actions by NVIDIA's resolution bucket.
var actions = map[string]Action{
	"IGNORE":               {"ignore", "nothing needs to be done"},
	"RESTART_APP":          {"restart_app", "restart the application"},
	"RESET_GPU":            {"reset_gpu", "reset the GPU"},
	"RESTART_VM":           {"restart_vm", "restart the virtual machine"},
	"RESTART_BM":           {"restart_bm", "restart the node"},
	"UPDATE_SWFW":          {"update_software", "update driver and firmware"},
	"CHECK_MECHANICALS":    {"check_mechanicals", "check how the board is seated and powered"},
	"CHECK_UVM":            {"check_uvm", "reset the GPU if unified memory or a virtual GPU is in use"},
	"CONTACT_SUPPORT":      {"contact_support", "contact the vendor's support"},
	"XID_154":              {"follow_recovery_action", "do what the driver asks for (hw.gpu.recovery.action)"},
	"WORKFLOW_XID_45":      {"follow_workflow", "see the XID before it; without one, restart the fabric manager"},
	"WORKFLOW_XID_48":      {"reset_gpu", "reset the GPU; with an XID 63 or 64, drain it first"},
	"WORKFLOW_NVLINK_ERR":  {"follow_workflow", "follow NVIDIA's workflow for NVLink errors"},
	"WORKFLOW_NVLINK5_ERR": {"follow_workflow", "decode the kernel's message with NVIDIA's table for XIDs 144 to 150"},
}

// ofCode are the actions of codes whose bucket leaves out what NVIDIA says elsewhere. A remapped row takes effect with the next reset, which
// NVIDIA's guide to memory errors leaves to the next service window: IGNORE says only that nothing has to be done at once.
var ofCode = map[int64]Action{
	63: {"reset_gpu", "reset the GPU when its work allows it"},
}

// requests are the actions by the words with which the driver asks for them.
var requests = []struct {
	words  string
	action Action
}{
	{"Node Reboot Required", Action{"restart_bm", "restart the node when its work allows it"}},
	{"GPU Reset Required", Action{"reset_gpu", "reset the GPU when its work allows it"}},
	{"Drain and Reset", drainAndReset},
}

var drainAndReset = Action{"drain_and_reset", "let its work finish, then reset the GPU"}

// actionOf returns the action of a code and NVIDIA's resolution bucket.
func actionOf(code int64, bucket string) Action {
	if action, ok := ofCode[code]; ok {
		return action
	}
	return actions[bucket]
}
