// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"strconv"
	"time"
)

// The routes.
const (
	Nodes     = "/api/v1/gpu/nodes"
	GPUs      = "/api/v1/gpu/metrics"
	Devices   = "/api/v1/gpu/devices"
	Processes = "/api/v1/gpu/processes"
	Summary   = "/api/v1/gpu/summary"
	Workloads = "/api/v1/gpu/workloads"
	Teams     = "/api/v1/gpu/teams"
	Events    = "/api/v1/gpu/events"
	Problems  = "/api/v1/gpu/problems"
	Info      = "/api/v1/gpu/info"
	stream    = "/api/v1/gpu/stream"
)

const (
	// pageSize is how many entries one request asks for.
	pageSize = 200
	// maxPages ends a list whose server always names another page.
	maxPages = 10_000
)

// Entries are the first entries of a list.
type Entries struct {
	Time  time.Time
	Total int               // entries that there are
	Items []json.RawMessage // as the API sent them
}

// page is one answer with entries. The route of GPUs calls them gpus.
type page struct {
	Time  time.Time          `json:"time"`
	Total *int               `json:"total"`
	Next  *string            `json:"next"`
	Items *[]json.RawMessage `json:"items"`
	GPUs  *[]json.RawMessage `json:"gpus"`
}

// List reads the first entries of a list, at most limit of them; 0: all. One request asks for one page.
func (c *Client) List(ctx context.Context, path string, query url.Values, limit int) (Entries, error) {
	all := Entries{Items: []json.RawMessage{}}
	err := c.pages(query, limit, func(parameters url.Values) (int, string, error) {
		var raw json.RawMessage
		if err := c.JSON(ctx, path, parameters, &raw); err != nil {
			return 0, "", err
		}
		next, err := c.add(&all, raw, path)
		return len(all.Items), next, err
	})
	if limit > 0 {
		all.Items = all.Items[:min(limit, len(all.Items))]
	}
	return all, err
}

// pages requests pages until there is no next, or there are enough entries. Each call of read returns the number of entries so far, and the
// next page's cursor.
func (c *Client) pages(query url.Values, limit int, read func(url.Values) (int, string, error)) error {
	parameters := maps.Clone(query)
	if parameters == nil {
		parameters = url.Values{}
	}
	have := 0
	for range maxPages {
		size := pageSize
		if limit > 0 {
			size = min(size, limit-have)
		}
		parameters.Set("limit", strconv.Itoa(size))
		now, next, err := read(parameters)
		if err != nil || next == "" || limit > 0 && now >= limit {
			return err
		}
		if now == have {
			break
		}
		have = now
		parameters.Set("cursor", next)
	}
	return c.notAPI("a list without an end")
}

// add appends the entries of one answer and returns the cursor of the next page.
func (c *Client) add(all *Entries, raw json.RawMessage, path string) (string, error) {
	var p page
	if err := json.Unmarshal(raw, &p); err != nil {
		return "", c.notAPI("an answer that is not the API's JSON")
	}
	items := p.Items
	if path == GPUs {
		items = p.GPUs
	}
	if !p.Time.IsZero() {
		all.Time = p.Time
	}
	if items == nil {
		return "", c.notAPI("an answer that is not a list of the API")
	}
	all.Items = append(all.Items, *items...)
	all.Total = len(all.Items)
	if p.Total != nil {
		all.Total = *p.Total
	}
	if p.Next == nil {
		return "", nil
	}
	return *p.Next, nil
}

// Decode returns entries in the form of a type of package view.
func Decode[T any](items []json.RawMessage) ([]*T, error) {
	decoded := make([]*T, len(items))
	for i, item := range items {
		decoded[i] = new(T)
		if err := json.Unmarshal(item, decoded[i]); err != nil {
			return nil, &Failure{What: "an entry is not the API's (" + err.Error() + ")", Do: "use an otelgpu of the collector's version"}
		}
	}
	return decoded, nil
}
