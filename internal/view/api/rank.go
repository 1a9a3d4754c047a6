// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
)

// rank is an entry's place in a sorted list.
type rank struct {
	Partly  bool    `json:"p,omitempty"` // it only contains the text that is searched for: it is behind those that are it
	Missing bool    `json:"m,omitempty"` // it has no value: it is behind those that have one
	Number  float64 `json:"n,omitempty"`
	Text    string  `json:"t,omitempty"`
	Key     string  `json:"k"` // its identity, in the order that the list has by itself
}

// maxRankText bounds the text by which entries are sorted. What is equal so far has the list's own order.
const maxRankText = 256

// healthOrder is the order of the classes of health: the worst first.
var healthOrder = []view.HealthClass{
	view.HealthFailed, view.HealthPredictedFailure, view.HealthDegraded, view.HealthUnknown, view.HealthThrottled, view.HealthStale, view.HealthOK,
}

// rankOf returns the place of an entry by a value.
func rankOf(value any, key string) rank {
	r := rank{Key: strings.ToValidUTF8(key, "\uFFFD")} // as the cursor, which is JSON, has it
	switch v := value.(type) {
	case view.HealthClass:
		r.Number = float64(slices.Index(healthOrder, v))
		return r
	case view.Severity:
		r.Number = float64(query.SeverityRank(v))
		return r
	case eventSeverity:
		r.Number = v.rank()
		return r
	}
	switch v := plain(value).(type) {
	case nil:
		r.Missing = true
	case bool:
		if v {
			r.Number = 1
		}
	case int:
		r.Number = float64(v)
	case float64:
		r.Number = v
		if math.IsNaN(v) || math.IsInf(v, 0) {
			r.Missing, r.Number = true, 0
		}
	case time.Time:
		r.Text = v.UTC().Format("2006-01-02T15:04:05.000000000")
	case string:
		r.Text = strings.ToValidUTF8(v[:min(len(v), maxRankText)], "")
	case []string:
		r.Number = float64(len(v))
	}
	return r
}

func (r *rank) compare(other *rank, descending bool) int {
	if r.Partly != other.Partly {
		if r.Partly {
			return 1
		}
		return -1
	}
	if r.Missing != other.Missing {
		if r.Missing {
			return 1
		}
		return -1
	}
	byValue := cmp.Or(cmp.Compare(r.Number, other.Number), strings.Compare(r.Text, other.Text))
	if descending {
		byValue = -byValue
	}
	return cmp.Or(byValue, strings.Compare(r.Key, other.Key))
}

// cursor is the start of a page.
type cursor struct {
	Sort  string `json:"s,omitempty"`
	After rank   `json:"a"`
}

func (c *cursor) encode() string {
	body, err := json.Marshal(c)
	if err != nil { // rankOf leaves no number that JSON does not have
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(body)
}

func parseCursor(text, sort string) (*cursor, error) {
	body, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errors.New("it is not from this API; use \"next\" of the previous page")
	}
	var c cursor
	if err := json.Unmarshal(body, &c); err != nil {
		return nil, errors.New("it is not from this API; use \"next\" of the previous page")
	}
	if c.Sort != sort {
		return nil, errors.New("it belongs to a list with another order; begin with the first page")
	}
	return &c, nil
}
