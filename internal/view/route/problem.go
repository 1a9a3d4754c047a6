// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
)

// ProblemError is an error that is answered.
type ProblemError struct {
	view.Problem
}

func (e *ProblemError) Error() string {
	return fmt.Sprintf("%s: %s; %s", e.Title, e.Detail, e.Remedy)
}

// Problem returns an error that is answered: what happened, to which cluster, node, GPU or parameter, and what to do.
func Problem(status int, title, detail, remedy string) *ProblemError {
	return &ProblemError{Problem: view.Problem{Type: "about:blank", Title: title, Status: status, Detail: detail, Remedy: remedy}}
}

// BadParameter returns the error of a parameter whose value is refused.
func BadParameter(name string, err error) *ProblemError {
	reason, remedy, found := strings.Cut(err.Error(), "; ")
	if !found {
		remedy = "see the parameters in the OpenAPI document"
	}
	return Problem(http.StatusBadRequest, "Bad value of a parameter", name+": "+reason, strings.ToUpper(remedy[:1])+remedy[1:]+".")
}

// AsProblem returns what is answered for an error: errors of package query have their statuses, and others are 500.
func AsProblem(err error) *ProblemError {
	var problem *ProblemError
	var unknown *query.UnknownError
	var ambiguous *query.AmbiguousError
	var noGPU *query.NoGPUError
	var unreadable *query.UnreadableError
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &unknown):
		return Problem(http.StatusNotFound, "Unknown "+unknown.What, unknown.Name, "Look in /api/v1/gpu/nodes for the known nodes and GPUs. Nodes that were silent for long are forgotten.")
	case errors.As(err, &ambiguous):
		p := Problem(http.StatusConflict, "The name is ambiguous", fmt.Sprintf("%d %ss have the name %s", ambiguous.Total, ambiguous.What, ambiguous.Name),
			"Name one of the candidates, by its cluster and node. The cluster \"-\" stands for nodes outside clusters.")
		p.Nodes = ambiguous.Candidates
		return p
	case errors.As(err, &noGPU):
		p := Problem(http.StatusBadRequest, "The cluster contains no GPUs", noGPU.Cluster, "Choose another cluster. All sources of this one could be read.")
		if len(noGPU.Reasons) > 0 {
			p.Remedy = "Look in /api/v1/gpu/problems, which says what to do about each reason."
		}
		p.Reasons = noGPU.Reasons
		return p
	case errors.As(err, &unreadable):
		p := Problem(http.StatusServiceUnavailable, "No GPU can be read", "no GPU of the requested nodes reports a value",
			strings.TrimSpace(unreadable.Remedy()+" Look in /api/v1/gpu/problems, which says what to do about each reason."))
		p.Reasons = unreadable.Reasons
		return p
	}
	return Problem(http.StatusInternalServerError, "The request failed", "the collector's log shows the error", "Report it, with the lines of the log.")
}

// WriteProblem answers a request with a problem.
func WriteProblem(w http.ResponseWriter, r *http.Request, p *ProblemError) {
	answer := p.Problem
	answer.Instance = r.URL.EscapedPath()
	if len(answer.Instance) > maxValue {
		answer.Instance = answer.Instance[:maxValue]
	}
	body, err := json.Marshal(answer)
	if err != nil { // it has only strings and numbers
		body = []byte(`{}`)
	}
	header := w.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "ETag"} {
		header.Del(name)
	}
	header.Set("Content-Type", ProblemJSON)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(answer.Status)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
}
