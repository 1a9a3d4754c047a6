// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
)

// dialTimeout bounds one connection.
const dialTimeout = 5 * time.Second

// senders are the exporters that connect to an endpoint, with the port if the endpoint has no port. Others listen at it, or write files.
var senders = map[string]string{
	"otlp": "4317", "otlp_grpc": "4317", "otlphttp": "4318", "otlp_http": "4318",
	"prometheusremotewrite": "443", "prometheus_remote_write": "443",
}

// variables are the environment variables from which the shipped configurations take the endpoints, by the port if the endpoint has none.
var variables = map[string]string{"4317": "OTLP_ENDPOINT", "4318": "OTLP_URL", "443": "REMOTE_WRITE_URL"}

// readExporters says whether something listens at the endpoints of the exporters of pipelines. It connects and sends nothing.
func readExporters(ctx context.Context, conf *confmap.Conf) []Section {
	s := Section{Name: "exporters"}
	exporters, _ := conf.Get("exporters").(map[string]any)
	used := inPipelines(conf, "exporters")
	for _, name := range slices.Sorted(maps.Keys(exporters)) {
		var id component.ID
		if id.UnmarshalText([]byte(name)) != nil || used[id] == nil {
			continue
		}
		port, sends := senders[id.Type().String()]
		if !sends {
			continue
		}
		section, _ := exporters[name].(map[string]any)
		if nested, ok := section["http"].(map[string]any); ok { // of remote write
			section = nested
		}
		for _, key := range []string{"endpoint", "metrics_endpoint", "logs_endpoint"} {
			if endpoint, ok := section[key].(string); ok && endpoint != "" {
				s.addEndpoint(ctx, name, endpoint, port)
			}
		}
	}
	if len(s.Checks) == 0 {
		return nil
	}
	return []Section{s}
}

func (s *Section) addEndpoint(ctx context.Context, exporter, endpoint, defaultPort string) {
	network, address, err := dialAddress(endpoint, defaultPort)
	if err != nil {
		s.add(Failed, exporter, err.Error())
		return
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	connection, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		s.add(Failed, exporter, fmt.Sprintf("connect to %s: %v; start what should listen there, or correct the endpoint (in the shipped configurations: set %s)", address, err, variables[defaultPort]))
		return
	}
	_ = connection.Close()
	s.add(OK, exporter, "something listens at "+address+"; nothing was sent")
}

// dialAddress returns the address of an endpoint: HOST:PORT, a URL, or a name as gRPC has it, such as dns:///HOST:PORT and unix:///PATH.
func dialAddress(endpoint, port string) (network, address string, err error) {
	if path, isSocket := strings.CutPrefix(endpoint, "unix:"); isSocket {
		return "unix", strings.TrimPrefix(path, "//"), nil
	}
	for _, resolver := range []string{"dns:///", "passthrough:///"} {
		endpoint = strings.TrimPrefix(endpoint, resolver)
	}
	if !strings.Contains(endpoint, "://") {
		endpoint = "any://" + endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" {
		return "", "", errors.New("the endpoint is not an address; give it as HOST:PORT or as a URL")
	}
	switch {
	case u.Port() != "":
		port = u.Port()
	case u.Scheme == "https":
		port = "443"
	case u.Scheme == "http":
		port = "80"
	}
	return "tcp", net.JoinHostPort(u.Hostname(), port), nil
}
