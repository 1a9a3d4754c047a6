// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Gateway is a collector that runs config/gateway.yaml on addresses of the loopback.
type Gateway struct {
	*Process
	GRPC string // its address for OTLP: host:port
	HTTP string // its address for OTLP over HTTP: URL
	View string // the page and the API: URL without a path
}

// StartGateway starts the collector of the options with the configuration in a file, config/gateway.yaml. It passes everything on to a
// backend, an endpoint for OTLP over gRPC. The overlays are files that are added to its configuration.
func StartGateway(o Options, file, backend string, overlays ...string) (*Gateway, error) {
	var addresses [4]string
	for i := range addresses {
		var err error
		if addresses[i], err = FreeAddress(); err != nil {
			return nil, err
		}
	}
	g := &Gateway{GRPC: addresses[0], HTTP: "http://" + addresses[1], View: "http://" + addresses[2]}
	o.Env = append(o.Env, "OTLP_ENDPOINT="+backend)
	o.Args = append(o.Args, FeatureGates, "--config", file)
	for _, overlay := range overlays {
		o.Args = append(o.Args, "--config", overlay)
	}
	for key, value := range map[string]string{
		"receivers::otlp::protocols::grpc::endpoint": addresses[0],
		"receivers::otlp::protocols::http::endpoint": addresses[1],
		"exporters::gpu_view::endpoint":              addresses[2],
		"extensions::health_check::http::endpoint":   addresses[3],
		"service::telemetry::metrics":                "{level: none, readers: []}",
	} {
		o.Args = append(o.Args, "--config=yaml:"+key+": "+value)
	}
	var err error
	g.Process, err = Start(o)
	return g, err
}

// maxAnswer bounds an answer in bytes.
const maxAnswer = 64 << 20

// Get asks the API for a path with its query, and returns the status and the answer.
func (g *Gateway) Get(ctx context.Context, target string) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, g.View+target, nil)
	if err != nil {
		return 0, nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return response.StatusCode, body, err
}

// Read asks the API for a path with its query, and decodes the answer. Its error is also of an answer of another status than 200.
func (g *Gateway) Read(ctx context.Context, target string, answer any) error {
	status, body, err := g.Get(ctx, target)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("GET %s: status %d: %.1000s", target, status, body)
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("GET %s: %w", target, err)
	}
	return nil
}
