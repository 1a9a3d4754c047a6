// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// CSV reads a list as CSV: the headings and at most limit lines; 0: all. It also returns how many lines there are.
func (c *Client) CSV(ctx context.Context, path string, query url.Values, limit int) ([][]string, int, error) {
	var (
		lines [][]string
		total int
	)
	err := c.pages(query, limit, func(parameters url.Values) (int, string, error) {
		header, body, err := c.read(ctx, path, parameters, "text/csv")
		if err != nil {
			return 0, "", err
		}
		if kind := header.Get("Content-Type"); !strings.HasPrefix(kind, "text/csv") {
			return 0, "", c.notAPI(fmt.Sprintf("%q and no CSV", kind))
		}
		page, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
		if err != nil || len(page) == 0 {
			return 0, "", c.notAPI(fmt.Sprintf("an answer that is not the API's CSV (%v)", err))
		}
		if lines != nil {
			page = page[1:] // without the headings
		}
		lines = append(lines, page...)
		if n, err := strconv.Atoi(header.Get("X-Total-Count")); err == nil {
			total = n
		}
		return len(lines) - 1, nextCursor(header), nil
	})
	if limit > 0 {
		lines = lines[:min(limit+1, len(lines))]
	}
	return lines, max(total, len(lines)-1), err
}

// nextCursor returns the cursor of the page that a Link header (RFC 8288) names as the next.
func nextCursor(header http.Header) string {
	for _, link := range header.Values("Link") {
		target, parameters, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
		if u, err := url.Parse(target); err == nil && strings.Contains(parameters, `rel="next"`) {
			return u.Query().Get("cursor")
		}
	}
	return ""
}
