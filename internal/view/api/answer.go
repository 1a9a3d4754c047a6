// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// writeJSON answers with a value.
func writeJSON(w http.ResponseWriter, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write the answer as JSON: %w", err)
	}
	w.Header().Set("Content-Type", route.JSON)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
	return nil
}

// listRoute completes the route of a list, which is answered with a page of the entries, as JSON or CSV.
func listRoute[T any](h *Handler, t *table[T], base route.Route, entries func(*view.Snapshot, *route.Request) ([]T, error)) route.Route {
	base.Parameters = append(base.Parameters, t.parameters()...)
	base.Answer, base.CSV, base.EntityTag, base.Problems = view.List[T]{}, true, true, []int{http.StatusNotFound, http.StatusConflict}
	base.Serve = func(w http.ResponseWriter, r *route.Request) error {
		s, changed := h.snapshot(w, r)
		if !changed {
			return nil
		}
		p, err := paged(h, r, t, func() ([]T, error) { return entries(s, r) })
		if err != nil {
			return err
		}
		return writeList(w, r, t, p, view.List[T]{Time: s.Time, Total: p.total, Next: p.next, Items: []T{}})
	}
	return base
}

// paged computes a page, at most a few at once.
func paged[T any](h *Handler, r *route.Request, t *table[T], all func() ([]T, error)) (page[T], error) {
	end, err := h.begin(r.Context())
	if err != nil {
		return page[T]{}, err
	}
	defer end()
	entries, err := all()
	if err != nil {
		return page[T]{}, err
	}
	return t.page(r, entries)
}

// writeList answers with a page. The frame is the answer without entries; its list of them must be its last field. Entries are written
// one by one: a page of nodes would have megabytes, and who reads it may be slow.
func writeList[T any](w http.ResponseWriter, r *route.Request, t *table[T], p page[T], frame any) error {
	w.Header().Set("X-Total-Count", strconv.Itoa(p.total))
	if p.next != nil {
		w.Header().Set("Link", "<"+nextPage(r.URL, *p.next)+`>; rel="next"`)
	}
	if wantsCSV(r) {
		return writeCSV(w, t, p.items)
	}
	body, err := json.Marshal(frame)
	if err != nil {
		return fmt.Errorf("write the answer as JSON: %w", err)
	}
	w.Header().Set("Content-Type", route.JSON)
	if r.Method == http.MethodHead {
		return nil
	}
	out := bufio.NewWriter(w)
	_, _ = out.Write(body[:len(body)-len("]}")])
	for i, entry := range p.items {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		body, err := json.Marshal(entry)
		if err != nil {
			return fmt.Errorf("write an entry as JSON: %w", err)
		}
		if _, err := out.Write(body); err != nil {
			return nil //nolint:nilerr // the client is gone
		}
	}
	_, _ = out.WriteString("]}\n")
	_ = out.Flush()
	return nil
}

// nextPage returns the address of the next page, as a reference without host.
func nextPage(u *url.URL, next string) string {
	values := u.Query()
	values.Set("cursor", next)
	return u.EscapedPath() + "?" + values.Encode()
}
