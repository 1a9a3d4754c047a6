// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import "github.com/otelgpu/gpureceiver/internal/nvml/library"

const (
	fieldNVLinkVersion = 166 // NVML_FI_DEV_NVLINK_GET_VERSION, since driver 515
	nvlinkMaxLinks     = 18  // NVML_NVLINK_MAX_LINKS
)

// nvlinkVersions are the values of nvmlNvlinkVersion_t.
var nvlinkVersions = [...]string{1: "1.0", 2: "2.0", 3: "2.2", 4: "3.0", 5: "3.1", 6: "4.0", 7: "5.0", 8: "6.0"}

// nvlinkVersion queries the version of all links in one call, and takes the first: a link that is down may have no version.
func nvlinkVersion(dev *device, into *Identity) library.Code {
	request := make([]library.FieldValue, nvlinkMaxLinks)
	for link := range request {
		request[link].FieldId, request[link].ScopeId = fieldNVLinkVersion, uint32(link)
	}
	if code := library.Code(dev.handle.GetFieldValues(request)); code != library.OK {
		return code
	}
	code := library.NotSupported
	for link := range request {
		of := &request[link]
		v, ok := library.Decode(of.ValueType, of.Value)
		switch answer := library.Code(of.NvmlReturn); {
		case answer == library.OK && ok && v.Unsigned > 0:
			into.Info.InterconnectVersion = word(nvlinkVersions[:], int64(min(v.Unsigned, maxMode)))
			return library.OK
		case answer != library.OK && answer.Answer() != library.Unsupported:
			code = answer
		}
	}
	return code
}
