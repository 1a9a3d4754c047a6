// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	proto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/test/page/fleets"
)

// patience is how long the page may take for anything. It only bounds tests that fail.
const patience = 3 * time.Minute

// tab is a page of Chromium that shows a fleet. When the test ends, it fails if the page has contacted another host, has thrown an error,
// has opened a dialog, or has done what its policy forbids.
type tab struct {
	t      *testing.T
	ctx    context.Context
	url    string           // of the server
	server *httptest.Server // nil if the page is a collector's
	reader *fleets.Reader   // nil if the page is a collector's

	mu       sync.Mutex
	faults   []string
	requests []string
}

// open shows a fleet at a path of the page.
func open(t *testing.T, s *view.Snapshot, path string) *tab {
	t.Helper()
	reader := fleets.NewReader(s)
	return openHandler(t, reader, fleets.Handler(reader), path)
}

func openHandler(t *testing.T, reader *fleets.Reader, handler http.Handler, path string) *tab {
	t.Helper()
	if browser == nil {
		t.Skip("chromium is missing")
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	p := openAt(t, server.URL, path)
	p.server, p.reader = server, reader
	return p
}

// openAt shows what a server has at a path of the page.
func openAt(t *testing.T, server, path string) *tab {
	t.Helper()
	p := &tab{t: t, url: server}
	ctx, end := chromedp.NewContext(browser)
	t.Cleanup(end)
	p.ctx = ctx
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900)))
	require.NoError(t, chromedp.Listen(ctx, p.event))
	for _, err := range []error{
		call(ctx, network.Enable, network.EnableParams{}), call(ctx, log.Enable, proto.Empty{}), call(ctx, cdp.Enable, cdp.EnableParams{}),
	} {
		require.NoError(t, err)
	}
	t.Cleanup(p.check)
	p.scheme("light")
	p.visit(path)
	return p
}

func (p *tab) event(e any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := e.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		p.faults = append(p.faults, "exception: "+e.ExceptionDetails.Text+" "+description(e.ExceptionDetails.Exception))
	case *cdp.EventJavascriptDialogOpening:
		p.faults = append(p.faults, "dialog: "+e.Message)
	case *log.EventEntryAdded:
		// The network's messages about answers that are errors are not faults of the page.
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			p.faults = append(p.faults, "log: "+e.Entry.Text)
		}
	}
}

func (p *tab) check() {
	p.mu.Lock()
	defer p.mu.Unlock()
	assert.Empty(p.t, p.faults, "faults of the page")
	for _, url := range p.requests {
		if !strings.HasPrefix(url, p.url+"/") && !strings.HasPrefix(url, "data:") && url != "about:blank" {
			assert.Fail(p.t, "the page asked another host", url)
		}
	}
}

// visit goes to a path, as a whole new page, and waits until it shows something.
func (p *tab) visit(path string) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(p.url+path)))
	p.until(`document.querySelector("main")?.textContent.length > 0 && ![...document.querySelectorAll(".empty")].some(e => e.textContent === "Loading…")`)
}

// scheme makes the system prefer a theme.
func (p *tab) scheme(name string) {
	p.t.Helper()
	require.NoError(p.t, call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	}))
}

func (p *tab) size(width, height int64) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.ctx, chromedp.EmulateViewport(width, height)))
}

func (p *tab) key(keys string) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.ctx, chromedp.KeyEvent(keys)))
}

// until waits until an expression of JavaScript is true.
func (p *tab) until(expression string) {
	p.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if eval[bool](p, "!!("+expression+")") {
			return
		}
		if time.Now().After(end) {
			require.Fail(p.t, "the page does not come to this", "%s\n\nit shows:\n%s", expression, eval[string](p, "document.body.innerText"))
		}
	}
}

func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	require.NoError(p.t, err, expression)
	return value
}

// text returns what a selector's first element shows.
func (p *tab) text(selector string) string {
	p.t.Helper()
	quoted, err := json.Marshal(selector)
	require.NoError(p.t, err)
	return eval[string](p, `(document.querySelector(`+string(quoted)+`)?.innerText ?? "no such element")`)
}

// ask asks the API what the page asks it.
func ask[T any](p *tab, path string) T {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+"/api/v1/gpu/"+path, nil)
	require.NoError(p.t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(p.t, err)
	defer answer.Body.Close()
	require.Equal(p.t, http.StatusOK, answer.StatusCode, path)
	var value T
	require.NoError(p.t, json.NewDecoder(answer.Body).Decode(&value))
	return value
}

func call[P any](ctx context.Context, command proto.Command[P, proto.Empty], params P) error {
	_, err := chromedp.Call(ctx, command, params)
	return err
}

func description(o *runtime.RemoteObject) string {
	if o == nil {
		return ""
	}
	return o.Description
}
