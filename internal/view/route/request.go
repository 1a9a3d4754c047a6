// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxQuery bounds a request's query in bytes.
const maxQuery = 8192

// Request is a request whose parameters are valid.
type Request struct {
	*http.Request
	values map[string]string
}

// Text returns a parameter's value, or its default if it was not given.
func (r *Request) Text(name string) string { return r.values[name] }

// Integer returns the value of a parameter of kind Integer, 0 if it was not given and has no default.
func (r *Request) Integer(name string) uint64 {
	n, _ := strconv.ParseUint(r.values[name], 10, 64)
	return n
}

// Moment returns the value of a parameter of kind Moment, the zero time if it was not given and has no default.
func (r *Request) Moment(name string, now time.Time) time.Time {
	t, _ := moment(r.values[name], now)
	return t
}

// newRequest returns the request with a route's parameters. Its error is a problem.
func newRequest(r *http.Request, route *Route, forms bool) (*Request, error) {
	if len(r.URL.RawQuery) > maxQuery {
		return nil, Problem(http.StatusRequestURITooLong, "The query is too long", fmt.Sprintf("it is %d bytes long", len(r.URL.RawQuery)),
			fmt.Sprintf("Give at most %d bytes.", maxQuery))
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, Problem(http.StatusBadRequest, "The query cannot be parsed", err.Error(), "Escape the values: %, & and ; are special characters in a query.")
	}
	if forms {
		query.Del("form")
	}
	request := &Request{Request: r, values: map[string]string{}}
	var known []string
	for i := range route.Parameters {
		p := &route.Parameters[i]
		value, present, err := p.value(r, query)
		if err == nil && present {
			err = p.check(value)
		}
		if err == nil && !present && p.Required {
			err = errors.New("it is missing; give a value")
		}
		if err != nil {
			return nil, BadParameter(p.Name, err)
		}
		if !present {
			value = p.Default
		}
		request.values[p.Name] = value
		if !p.Path {
			known = append(known, p.Name)
			delete(query, p.Name)
			delete(query, p.Alias)
		}
	}
	if len(query) > 0 {
		return nil, unknownParameter(query, known)
	}
	return request, nil
}

// value returns a parameter's value and whether it was given.
func (p *Parameter) value(r *http.Request, query url.Values) (string, bool, error) {
	if p.Path {
		return r.PathValue(p.Name), true, nil
	}
	values := query[p.Name]
	if p.Alias != "" {
		values = slices.Concat(values, query[p.Alias])
	}
	switch len(values) {
	case 0:
		return "", false, nil
	case 1:
		return values[0], true, nil
	}
	if p.Alias != "" {
		return "", true, fmt.Errorf("it is given %d times; give %s or %s once", len(values), p.Name, p.Alias)
	}
	return "", true, fmt.Errorf("it is given %d times; give it once", len(values))
}

func unknownParameter(query url.Values, known []string) error {
	names := make([]string, 0, len(query))
	for name := range query {
		names = append(names, quote(name))
	}
	slices.Sort(names)
	remedy := "This route accepts no parameters."
	if len(known) > 0 {
		remedy = "Give only " + strings.Join(known, ", ") + "."
	}
	return Problem(http.StatusBadRequest, "Unknown parameter", strings.Join(names[:min(len(names), 10)], ", "), remedy)
}
