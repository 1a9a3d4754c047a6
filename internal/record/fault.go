// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// fault is what the record of a fault other than an XID says in addition to its facts. docs/reference/events/gpu.md has the rule of the
// severities.
type fault struct {
	severity plog.SeverityNumber
	action   string // one of the values of hw.gpu.recommended_action; empty if there is no action
	advice   string // the same for a person
}

const (
	faultWarn  = plog.SeverityNumberWarn
	faultError = plog.SeverityNumberError
	faultFatal = plog.SeverityNumberFatal
)

var (
	rasFaults = [gpu.NumErrorClasses]fault{
		gpu.ClassCorrected:   {faultWarn, "ignore", ""},
		gpu.ClassDeferred:    {faultWarn, "ignore", "the driver takes the page out of use"},
		gpu.ClassUncorrected: {faultError, "reset_gpu", "reset the GPU unless the driver does so"},
		gpu.ClassPoison:      {faultError, "restart_app", "restart the application"},
	}
	pcieFaults = [gpu.NumErrorClasses]fault{
		gpu.ClassCorrected:   {faultWarn, "ignore", ""},
		gpu.ClassNonFatal:    {faultError, "restart_app", "restart the application"},
		gpu.ClassFatal:       {faultError, "check_mechanicals", "check how the board is seated and powered"},
		gpu.ClassUncorrected: {faultError, "check_mechanicals", "check how the board is seated and powered"},
	}
	resetFaults = [gpu.NumResetStates]fault{
		gpu.ResetStarted:   {faultError, "", ""},
		gpu.ResetSucceeded: {faultWarn, "restart_app", "restart the applications that used it"},
		gpu.ResetFailed:    {faultFatal, "restart_bm", "restart the node"},
	}
	badPages     = fault{faultWarn, "ignore", ""}
	badPageLimit = fault{faultError, "replace_gpu", "replace the GPU"}
	ringTimeout  = fault{faultError, "restart_app", "restart the application"}
	ringRecovery = fault{faultWarn, "restart_app", "restart the application"}
	lost         = fault{faultFatal, "restart_bm", "restart the node"}
	switchFaults = [gpu.NumErrorClasses]fault{
		gpu.ClassNonFatal: {faultWarn, "check_fabric", ""},
		gpu.ClassFatal:    {faultError, "check_fabric", "check the fabric manager of the node, and end what uses the switch"},
	}
)

// faultOf returns what the record of an event says, and whether it is a fault other than an XID.
func faultOf(e *gpu.Event) (fault, bool) {
	switch {
	case e.Type == gpu.EventRASError:
		return rasFaults[e.Class], true
	case e.Type == gpu.EventPCIeError:
		return pcieFaults[e.Class], true
	case e.Type == gpu.EventReset:
		return resetFaults[e.Reset], true
	case e.Type == gpu.EventBadPages && e.AtLimit:
		return badPageLimit, true
	case e.Type == gpu.EventBadPages:
		return badPages, true
	case e.Type == gpu.EventRingTimeout && e.Recovered:
		return ringRecovery, true
	case e.Type == gpu.EventRingTimeout:
		return ringTimeout, true
	case e.Type == gpu.EventLost:
		return lost, true
	case e.Type == gpu.EventSwitchError:
		return switchFaults[e.Class], true
	default:
		return fault{}, false
	}
}

// setFault sets what is known of a fault, the holders and users of the GPU, and the sum of repeats.
func setFault(record plog.LogRecord, e *gpu.Event) {
	a := attributes{record.Attributes()}
	fault, _ := faultOf(e)
	switch e.Type {
	case gpu.EventRASError:
		a.text("error.type", errorClasses[e.Class])
		a.text("hw.gpu.error.block", strings.ToLower(e.Part))
		a.int("hw.gpu.error.count", e.Errors)
	case gpu.EventPCIeError:
		a.text("error.type", errorClasses[e.Class])
		a.text("hw.gpu.pcie.layer", strings.ToLower(e.Part))
		a.text("hw.gpu.pcie.address", e.PCIAddress)
	case gpu.EventSwitchError:
		a.text("error.type", strconv.FormatInt(e.XID, 10))
		a.PutBool("hw.gpu.interconnect.fatal", e.Class == gpu.ClassFatal)
		a.link(e.Link)
		a.text("hw.gpu.pcie.address", e.PCIAddress)
	case gpu.EventBadPages:
		a.int("hw.gpu.bad_page.count", e.Errors)
		a.int("hw.gpu.bad_page.total", e.Pages)
	case gpu.EventReset:
		a.text("hw.gpu.reset.state", resetStates[e.Reset].String())
	case gpu.EventRingTimeout:
		a.text("hw.gpu.ring", e.Part)
	}
	a.text("hw.gpu.recommended_action", fault.action)
	a.repeats(e)
	a.namedProcess(e.Process)
	a.containers(e)
	if e.Message == "" {
		record.Body().SetStr(faultText(e, fault))
	}
}

// faultText is the body of the record: uncorrected hardware errors in umc on card1 (AMD Instinct MI300X), 2 errors; reset the GPU …
func faultText(e *gpu.Event, fault fault) string {
	text := whatText(e) + " on " + subjectText(e)
	if e.Type == gpu.EventLost {
		text = subjectText(e) + " has fallen off the bus"
	}
	if n, ok := e.Errors.Get(); ok {
		text += fmt.Sprintf(", %d new", n)
	}
	if n, ok := e.Pages.Get(); ok {
		text += fmt.Sprintf(", %d in all", n)
	}
	if fault.advice != "" {
		text += "; " + fault.advice
	}
	if e.Detail != "" {
		text += fmt.Sprintf("; the kernel says %q", e.Detail)
	}
	return text
}

// whatText says in words what happened.
func whatText(e *gpu.Event) string {
	switch e.Type {
	case gpu.EventRASError:
		description := errorClasses[e.Class] + " hardware errors"
		if e.Class == gpu.ClassPoison {
			description = "poisoned data was used"
		}
		if e.Part != "" {
			description += " in " + e.Part
		}
		return description
	case gpu.EventPCIeError:
		return strings.ReplaceAll(errorClasses[e.Class], "_", "-") + " PCI Express error"
	case gpu.EventSwitchError:
		return fmt.Sprintf("%s error (SXid %d)", strings.ReplaceAll(errorClasses[e.Class], "_", "-"), e.XID)
	case gpu.EventReset:
		return "GPU reset " + resetStates[e.Reset].String()
	case gpu.EventRingTimeout:
		if e.Recovered {
			return "ring " + e.Part + " did not complete a job in time, and the job was ended"
		}
		return "ring " + e.Part + " did not complete a job in time"
	default:
		if e.AtLimit {
			return "too many bad pages of memory"
		}
		return "bad pages of memory were taken out of use"
	}
}

// subjectText names the device, of a sum how many events more it has, and the process that the driver names:
// nvidia0 (NVIDIA H100), 3 more in 8s, process 42 (python3).
func subjectText(e *gpu.Event) string {
	text := deviceText(e)
	if e.Count > 0 {
		text += fmt.Sprintf(", %d more in %s", e.Count, e.Time.Sub(e.First).Round(time.Second))
	}
	if p := e.Process; p != nil {
		text += fmt.Sprintf(", process %d", p.PID)
		if p.Executable != "" {
			text += " (" + p.Executable + ")"
		}
	}
	return text
}
