// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.uber.org/zap"
)

// reportPath is what the server answers.
const reportPath = "/api/v1/report"

// lastAnswers is how long answers that are being written may take at the end.
const lastAnswers = time.Second

// server answers reports over HTTP.
type server struct {
	http *http.Server
	done chan struct{}
	addr net.Addr
}

// serve answers reports until close.
func serve(ctx context.Context, cfg *confighttp.ServerConfig, host component.Host, set component.TelemetrySettings, answer http.HandlerFunc) (*server, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+reportPath, answer)
	s := &server{done: make(chan struct{})}
	listener, err := cfg.ToListener(ctx)
	if err != nil {
		return nil, fmt.Errorf("report: listen on %s: %w", cfg.NetAddr.Endpoint, err)
	}
	s.addr = listener.Addr()
	if s.http, err = cfg.ToServer(ctx, host.GetExtensions(), set, guarded(s.addr, mux)); err != nil {
		_ = listener.Close()
		return nil, err
	}
	set.Logger.Info("Serving the reports of the ledger", zap.Stringer("address", s.addr))
	go func() {
		defer close(s.done)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			componentstatus.ReportStatus(host, componentstatus.NewPermanentErrorEvent(err))
		}
	}()
	return s, nil
}

// guarded refuses requests by another name than the loopback's if only programs of this machine can connect: a website in a browser of this
// machine could otherwise read the reports with a name that resolves to the loopback.
func guarded(address net.Addr, next http.Handler) http.Handler {
	if tcp, ok := address.(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			name = r.Host
		}
		if ip, err := netip.ParseAddr(name); name != "localhost" && (err != nil || !ip.IsLoopback()) {
			http.Error(w, "this name is not the loopback's", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *server) close() {
	ctx, cancel := context.WithTimeout(context.Background(), lastAnswers)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
	<-s.done
}

// report answers a request for a report. Times are RFC 3339.
func (i *instance) report(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	q := question{By: query.Get("by"), Label: query.Get("label")}
	var sinceErr, untilErr error
	q.Since, sinceErr = time.Parse(time.RFC3339, query.Get("since"))
	q.Until, untilErr = time.Parse(time.RFC3339, query.Get("until"))
	if err := errors.Join(sinceErr, untilErr); err != nil {
		http.Error(w, "since, until: must be times such as 2026-01-02T03:04:05Z", http.StatusBadRequest)
		return
	}
	if err := q.check(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	db, err := i.usable(r.Context())
	if err == nil {
		var answer *reportAnswer
		if answer, err = db.report(r.Context(), &q); err == nil {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer) // the client has gone
			return
		}
	}
	i.set.Logger.Warn("A report of the ledger failed", zap.Error(err))
	http.Error(w, "the database cannot be read; the collector's log says why", http.StatusServiceUnavailable)
}
