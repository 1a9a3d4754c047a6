// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"go.uber.org/zap"
)

// allowed are the methods: nothing that is served can be changed.
const allowed = "GET, HEAD"

// Mux returns a handler of routes. Requests that select no form get defaultForm if their path has it, otherwise the API's own. Errors, paths
// that no route has, other methods and panics are answered as problems.
func Mux(routes []Route, defaultForm string, logger *zap.Logger) http.Handler {
	mux := http.NewServeMux()
	byPath := map[string][]*Route{}
	for i := range routes {
		byPath[routes[i].Path] = append(byPath[routes[i].Path], &routes[i])
	}
	for path, forms := range byPath {
		slices.SortFunc(forms, func(a, b *Route) int { return strings.Compare(a.Form, b.Form) }) // the API's own form is the first
		mux.Handle(path, &pathHandler{forms: forms, standard: max(0, slices.IndexFunc(forms, func(r *Route) bool { return r.Form == defaultForm })), logger: logger})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		WriteProblem(w, r, Problem(http.StatusNotFound, "Unknown path", r.URL.EscapedPath(), "Look in /api/v1/gpu/openapi.json for the paths."))
	})
	return mux
}

// pathHandler answers one path.
type pathHandler struct {
	forms    []*Route
	standard int // index of the form of requests that select none
	logger   *zap.Logger
}

func (h *pathHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	written := &writeRecorder{ResponseWriter: w}
	defer h.recover(written, r)
	if err := h.serve(written, r); err != nil {
		h.answer(written, r, err)
	}
}

func (h *pathHandler) serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", allowed)
		return Problem(http.StatusMethodNotAllowed, "Method not allowed", r.Method, "Use GET or HEAD: nothing can be changed here.")
	}
	route, err := h.form(r)
	if err != nil {
		return err
	}
	request, err := newRequest(r, route, len(h.forms) > 1)
	if err != nil {
		return err
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if route.CSV || len(h.forms) > 1 {
		w.Header().Add("Vary", "Accept")
	}
	return route.Serve(w, request)
}

// form returns the route of the form that a request asks for.
func (h *pathHandler) form(r *http.Request) (*Route, error) {
	if len(h.forms) == 1 {
		return h.forms[0], nil
	}
	if form := r.URL.Query()["form"]; len(form) > 0 {
		var known []string
		for _, route := range h.forms {
			if len(form) == 1 && route.formName() == form[0] {
				return route, nil
			}
			known = append(known, route.formName())
		}
		return nil, BadParameter("form", fmt.Errorf("%s; give one of %s, or leave it out", quote(strings.Join(form, ", ")), strings.Join(known, ", ")))
	}
	if h.forms[0].CSV && Accepted(r.Header.Values("Accept"), JSON, CSV) == CSV { // only the API's own form has it
		return h.forms[0], nil
	}
	for _, route := range h.forms {
		if Names(r.Header.Values("Accept"), route.formType()) {
			return route, nil
		}
	}
	return h.forms[h.standard], nil
}

// answer answers with a problem, or ends the connection if an answer has started: half of one must not look complete.
func (h *pathHandler) answer(w *writeRecorder, r *http.Request, err error) {
	problem := AsProblem(err)
	if problem.Status == http.StatusInternalServerError {
		h.logger.Error("HTTP request failed", zap.String("path", r.URL.Path), zap.Error(err))
	}
	if w.begun {
		panic(http.ErrAbortHandler)
	}
	WriteProblem(w, r, problem)
}

func (h *pathHandler) recover(w *writeRecorder, r *http.Request) {
	switch failure := recover(); failure {
	case nil:
	case http.ErrAbortHandler:
		panic(failure)
	default:
		h.answer(w, r, fmt.Errorf("panic: %v\n%s", failure, debug.Stack()))
	}
}

// writeRecorder notices that an answer has begun.
type writeRecorder struct {
	http.ResponseWriter
	begun bool
}

func (w *writeRecorder) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *writeRecorder) Write(b []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController the server's writer.
func (w *writeRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
