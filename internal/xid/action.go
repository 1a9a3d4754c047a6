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
