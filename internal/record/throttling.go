// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// setThrottled sets why a device is or was throttled, for how long, what to do, and the holders and users of the device.
func setThrottled(record plog.LogRecord, e *gpu.Event) {
	a := attributes{record.Attributes()}
	reasons := make([]string, 0, len(e.Throttle))
	list := a.PutEmptySlice("hw.gpu.throttle.reasons")
	for _, reason := range e.Throttle {
		reasons = append(reasons, throttleReasons[reason].String())
		list.AppendEmpty().SetStr(reasons[len(reasons)-1])
	}
	a.seconds("hw.gpu.throttle.duration", e.Lasted)
	a.containers(e)
	lasted, known := e.Lasted.Get()
	text := deviceText(e)
	if e.Type == gpu.EventThrottledStarted {
		if known {
			text += fmt.Sprintf(" has been throttled for %s", lasted.Round(time.Second))
		} else {
			text += " is throttled"
		}
	} else {
		text += " is not throttled any more"
		if known {
			text += fmt.Sprintf(", after %s", lasted.Round(time.Second))
		}
	}
	text += ": " + strings.Join(reasons, ", ")
	if e.Type == gpu.EventThrottledStarted {
		action, advice := throttleAction(e.Throttle)
		a.text("hw.gpu.recommended_action", action)
		text += "; " + advice
	}
	record.Body().SetStr(text)
}

// throttleAction is what to do first, and the advice for people. Hardware slowdown alone, and heat, are matters of cooling.
func throttleAction(reasons []gpu.ThrottleReason) (name, advice string) {
	if slices.Contains(reasons, gpu.ThrottleHWPowerBrake) {
		return "check_power", "check the power supply"
	}
	return "check_cooling", "check the fans, the air flow and the coolant"
}
