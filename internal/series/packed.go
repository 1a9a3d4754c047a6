// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"bytes"

	"github.com/klauspost/compress/s2"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// packed is a compressed message. A collector that reads a thousand nodes keeps one for each: some 10 KB instead of 170. Packing fails only
// for an invalid message, so errors cannot happen.
type packed []byte

func pack(message pmetric.Metrics) packed {
	text, _ := (&pmetric.ProtoMarshaler{}).MarshalMetrics(message)
	return bytes.Clone(s2.Encode(nil, text)) // Encode's own slice has room for the whole message
}

func (p packed) unpack() pmetric.Metrics {
	text, _ := s2.Decode(nil, p)
	message, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(text)
	if err != nil {
		return pmetric.NewMetrics()
	}
	return message
}
