// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/xid"
)

// setXID sets what the catalogue has on the code of an XID, who held and used the GPU, and the sum of repeats.
func setXID(record plog.LogRecord, e *gpu.Event) {
	a := attributes{record.Attributes()}
	entry, _ := xid.Lookup(e.XID)
	a.PutInt("hw.gpu.xid", e.XID)
	a.text("hw.gpu.xid_name", entry.Name)
	a.text("hw.gpu.recommended_action", entry.Action.Name)
	a.repeats(e)
	a.namedProcess(e.Process)
	a.containers(e)
	if e.Message == "" {
		record.Body().SetStr(xidText(e, entry))
	}
}

// xidText is the body of the record of an XID: XID 79 on nvidia0 (NVIDIA H100): the GPU has fallen off the bus; restart the node.
func xidText(e *gpu.Event, entry xid.Entry) string {
	text := fmt.Sprintf("XID %d on %s", e.XID, whereText(e))
	if entry.Meaning != "" {
		text += ": " + entry.Meaning
	}
	if entry.Meaning != "" && entry.Action.Advice != "" {
		text += "; " + entry.Action.Advice
	}
	if e.Detail != "" {
		text += fmt.Sprintf("; the driver says %q", e.Detail)
	}
	return text
}
