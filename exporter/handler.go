// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter // import "github.com/otelgpu/gpureceiver/exporter"

import (
	"net/http"

	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/api"
	"github.com/otelgpu/gpureceiver/internal/view/compat"
	"github.com/otelgpu/gpureceiver/internal/view/page"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// newHandler returns the routes: the API and the compatible forms of it, and the page at all other paths. Answers are compressed.
func newHandler(reader view.Reader, cfg *Config, logger *zap.Logger) http.Handler {
	data := api.New(reader, api.Settings{Logger: logger, More: compat.Routes(reader), DefaultForm: cfg.DefaultForm})
	mux := http.NewServeMux()
	for _, path := range []string{"/api/", "/gpu/", healthPath} {
		mux.Handle(path, data)
	}
	mux.Handle("/redoc", http.RedirectHandler("/docs", http.StatusFound)) // for clients of form B
	mux.Handle("/", page.New(page.Settings{Notice: cfg.Notice, GrafanaURL: cfg.GrafanaURL}))
	return route.Compress(mux)
}
