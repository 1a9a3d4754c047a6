// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"strconv"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/xid"
)

// setXID sets what the catalogue has on the code of an XID, the holders and users of the GPU, and the sum of repeats.
func setXID(record plog.LogRecord, e *gpu.Event) {
	a := attributes{record.Attributes()}
	entry, _ := xid.Lookup(e.XID)
	reading := entry.Read(e.Detail)
	a.text("error.type", strconv.FormatInt(e.XID, 10))
	a.PutInt("hw.gpu.xid", e.XID)
	a.text("hw.gpu.xid_name", entry.Name)
	a.text("hw.gpu.recommended_action", reading.Action.Name)
	a.text("hw.gpu.recovery.action", recoveryAction(reading.Recovery, reading.RecoveryWord))
	a.link(reading.Link)
	a.bool("hw.gpu.interconnect.fatal", reading.Fatal)
	a.bool("hw.gpu.interconnect.injected", reading.Injected)
	a.repeats(e)
	a.namedProcess(e.Process)
	a.containers(e)
	if e.Message == "" {
		record.Body().SetStr(xidText(e, entry.Meaning, reading.Action.Advice))
	}
}

// xidText is the body of the record of an XID: XID 79 on nvidia0 (NVIDIA H100): the GPU has fallen off the bus; restart the node.
func xidText(e *gpu.Event, meaning, advice string) string {
	text := fmt.Sprintf("XID %d on %s", e.XID, subjectText(e))
	if meaning != "" {
		text += ": " + meaning
	}
	if meaning != "" && advice != "" {
		text += "; " + advice
	}
	if e.Detail != "" {
		text += fmt.Sprintf("; the driver says %q", e.Detail)
	}
	return text
}
