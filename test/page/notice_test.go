// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/view/page"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
	"github.com/otelgpu/gpureceiver/test/page/fleets"
)

// The notice of the configuration is above every view, as text.
func TestNotice(t *testing.T) {
	const notice = `SIMULATED: these "GPUs" <b>do not exist</b>.`
	reader := fleets.NewReader(viewtest.Snapshot())
	mux := http.NewServeMux()
	mux.Handle("/api/", fleets.Handler(reader))
	mux.Handle("/", page.New(page.Settings{Notice: notice}))
	p := openHandler(t, reader, mux, "/")
	for _, path := range []string{"/", "/#/problems", "/docs"} {
		p.visit(path)
		assert.Equal(t, notice, p.text("header > .notice"), path)
	}
}
