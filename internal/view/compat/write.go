// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"bufio"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"

	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// writeJSON answers with a value.
func writeJSON(w http.ResponseWriter, mediaType string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write the answer as JSON: %w", err)
	}
	header(w, mediaType)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
	return nil
}

// writeList answers with the entries of a list between two pieces of JSON. Entries are made and written one by one: the forms have no
// pages, the list may be of a whole fleet, and who reads it may be slow.
func writeList[T any](w http.ResponseWriter, r *route.Request, mediaType, before string, entries iter.Seq[T], after string) error {
	header(w, mediaType)
	if r.Method == http.MethodHead {
		return nil
	}
	out := bufio.NewWriter(w)
	_, _ = out.WriteString(before)
	first := true
	for entry := range entries {
		if !first {
			_ = out.WriteByte(',')
		}
		first = false
		body, err := json.Marshal(entry)
		if err != nil {
			return fmt.Errorf("write an entry as JSON: %w", err)
		}
		if _, err := out.Write(body); err != nil {
			return nil //nolint:nilerr // the client is gone
		}
	}
	_, _ = out.WriteString(after + "\n")
	_ = out.Flush()
	return nil
}

func header(w http.ResponseWriter, mediaType string) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Cache-Control", "no-cache")
}
