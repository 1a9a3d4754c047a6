// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"cmp"
	"net/http"
)

// Media types of answers.
const (
	JSON        = "application/json"
	CSV         = "text/csv"
	ProblemJSON = "application/problem+json"
	EventStream = "text/event-stream"
)

// OwnForm and OwnFormType select the API's own form of an answer, which is the default unless a setting names another.
const (
	OwnForm     = "own"
	OwnFormType = "application/vnd.gpu.own+json"
)

// Route is one path, in one form of its answers.
type Route struct {
	// Path is a pattern of http.ServeMux without method. Values in it may contain escaped slashes.
	Path string
	// ID is the operation's name in the OpenAPI document.
	ID string
	// Tag is the group in which the document shows it.
	Tag         string
	Summary     string
	Description string
	Parameters  []Parameter

	// Answer is a value of the type that is answered as JSON; nil if the answer is not described by a type.
	Answer any
	// MediaType is the answer's; JSON if it is empty.
	MediaType string
	// CSV reports whether the answer is also there as CSV, by Accept.
	CSV bool
	// EntityTag reports whether the answer has an entity tag, so that If-None-Match can be answered by 304.
	EntityTag bool
	// Problems are the statuses of its errors, in addition to 400 if it has parameters and 405.
	Problems []int

	// Form is the name of a form in which another route of the same path answers too. The query parameter "form", or FormType in Accept,
	// selects it. Both are empty for the API's own form.
	Form     string
	FormType string

	// Serve answers a request whose parameters are valid. An error is answered as a problem, if nothing was written before.
	Serve func(w http.ResponseWriter, r *Request) error
}

// formName returns the value of the query parameter "form" that selects the route's form.
func (r *Route) formName() string { return cmp.Or(r.Form, OwnForm) }

// formType returns the media type in Accept that selects the route's form.
func (r *Route) formType() string { return cmp.Or(r.FormType, OwnFormType) }
