// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter // import "github.com/otelgpu/gpureceiver/exporter"

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelgpu/gpureceiver/internal/configkeys"
	"github.com/otelgpu/gpureceiver/internal/view/compat"
)

const (
	defaultEndpoint          = "127.0.0.1:9410"
	defaultReadHeaderTimeout = 3 * time.Second
	defaultIdleTimeout       = 15 * time.Second // an idle connection has the place of another
	defaultHistory           = time.Hour
	defaultHistoryPoints     = 50
	defaultGoneAfter         = 7 * 24 * time.Hour
	defaultIdleAfter         = 5 * time.Minute
	defaultMaxNodes          = 2_000
	defaultMaxGPUs           = 20_000
	defaultMaxProcesses      = 200_000
	defaultMaxConnections    = 256
	defaultMaxPerAddress     = 64
	defaultMaxRequests       = 32
)

// Config is the configuration of the gpu_view exporter.
type Config struct {
	// Server is the HTTP server: endpoint, tls, auth, cors, timeouts.
	Server confighttp.ServerConfig `mapstructure:",squash"`

	// AllowedHosts are names and addresses, without a port, that the Host header of a request may have in addition to the names of the
	// loopback. If it is empty, the header is only checked if the endpoint is a loopback address.
	AllowedHosts []string `mapstructure:"allowed_hosts"`

	// History is how far back the course of a GPU's readings goes.
	History time.Duration `mapstructure:"history"`

	// HistoryPoints bounds the points of the history of one GPU. Each takes 128 bytes.
	HistoryPoints int `mapstructure:"history_points"`

	// GoneAfter is how long a node that sends nothing stays, as stale, unless its cluster removes it.
	GoneAfter time.Duration `mapstructure:"gone_after"`

	// A GPU that a container holds is idle if its utilization was at most IdleThreshold for IdleAfter.
	IdleThreshold float64       `mapstructure:"idle_threshold"`
	IdleAfter     time.Duration `mapstructure:"idle_after"`

	// MaxNodes, MaxGPUs and MaxProcesses bound what is kept, of all nodes together. MaxGPUs counts partitions too.
	MaxNodes     int `mapstructure:"max_nodes"`
	MaxGPUs      int `mapstructure:"max_gpus"`
	MaxProcesses int `mapstructure:"max_processes"`

	// MaxConnections bounds the open connections. More wait until one of them ends.
	MaxConnections int `mapstructure:"max_connections"`

	// MaxConnectionsPerAddress bounds the open connections of one client address. Further connections are closed immediately.
	MaxConnectionsPerAddress int `mapstructure:"max_connections_per_address"`

	// Notice is a text that the page shows above everything.
	Notice string `mapstructure:"notice"`

	// GrafanaURL is the address of a dashboard, to which the page of a GPU has a link. The page fills in the placeholders of grafanaPlaceholders.
	GrafanaURL string `mapstructure:"grafana_url"`

	// DefaultForm is the form of the API's answers to requests that select none: a, or empty for the API's own.
	DefaultForm string `mapstructure:"default_form"`

	// MaxRequests bounds the requests that are answered at a time, without streams. More get status 503.
	MaxRequests int `mapstructure:"max_requests"`
}

var (
	_ confmap.Unmarshaler = (*Config)(nil)
	_ confmap.Validator   = (*Config)(nil)
)

func createDefaultConfig() component.Config {
	server := confighttp.NewDefaultServerConfig()
	server.NetAddr.Endpoint = defaultEndpoint
	server.ReadHeaderTimeout = defaultReadHeaderTimeout
	server.IdleTimeout = defaultIdleTimeout //nolint:staticcheck // confighttp reads the section keepalive into the deprecated fields
	return &Config{
		Server:         server,
		History:        defaultHistory,
		HistoryPoints:  defaultHistoryPoints,
		GoneAfter:      defaultGoneAfter,
		IdleAfter:      defaultIdleAfter,
		MaxNodes:       defaultMaxNodes,
		MaxGPUs:        defaultMaxGPUs,
		MaxProcesses:   defaultMaxProcesses,
		MaxConnections: defaultMaxConnections,
		MaxRequests:    defaultMaxRequests,

		MaxConnectionsPerAddress: defaultMaxPerAddress,
	}
}

// Unmarshal reads the configuration.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	if err := configkeys.Check("", conf.ToStringMap(), c); err != nil {
		return err
	}
	return conf.Unmarshal(c)
}

// Validate returns what is wrong, each error with its key.
func (c *Config) Validate() error {
	errs := []error{
		c.checkEndpoint(),
		// An answer that is never taken, or a request that is never finished, would keep its memory.
		durationWithin("read_header_timeout", c.Server.ReadHeaderTimeout, time.Millisecond, time.Minute),
		durationWithin("write_timeout", c.Server.WriteTimeout, time.Millisecond, time.Hour),
		durationWithin("history", c.History, time.Minute, 6*time.Hour),
		countWithin("history_points", c.HistoryPoints, 10_000),
		durationWithin("gone_after", c.GoneAfter, time.Minute, 90*24*time.Hour),
		shareWithin("idle_threshold", c.IdleThreshold),
		durationWithin("idle_after", c.IdleAfter, time.Second, 24*time.Hour),
		countWithin("max_nodes", c.MaxNodes, 100_000),
		countWithin("max_gpus", c.MaxGPUs, 1_000_000),
		countWithin("max_processes", c.MaxProcesses, 10_000_000),
		countWithin("max_connections", c.MaxConnections, 100_000),
		countWithin("max_connections_per_address", c.MaxConnectionsPerAddress, 100_000),
		countWithin("max_requests", c.MaxRequests, 10_000),
	}
	if c.DefaultForm != "" && c.DefaultForm != compat.FormA {
		errs = append(errs, fmt.Errorf("default_form: must be empty or %s, got %q", compat.FormA, c.DefaultForm))
	}
	if err := checkGrafanaURL(c.GrafanaURL); err != nil {
		errs = append(errs, fmt.Errorf("grafana_url: %w", err))
	}
	if c.Server.KeepAlivesEnabled { //nolint:staticcheck // as in createDefaultConfig
		errs = append(errs, durationWithin("keepalive::idle_timeout", c.Server.IdleTimeout, time.Millisecond, time.Hour)) //nolint:staticcheck // as in createDefaultConfig
	}
	for _, name := range c.AllowedHosts {
		if name == "" || strings.ContainsAny(name, "/*[] ") || withoutPort(name) != name {
			errs = append(errs, fmt.Errorf("allowed_hosts: %q is not the name of a host; give names or addresses alone, without scheme, port or *", name))
		}
	}
	return errors.Join(errs...)
}

func (c *Config) checkEndpoint() error {
	endpoint, transport := c.Server.NetAddr.Endpoint, c.Server.NetAddr.Transport
	switch transport {
	case confignet.TransportTypeUnix:
		if endpoint == "" {
			return errors.New("endpoint: must be the path of a socket with transport unix")
		}
	case confignet.TransportTypeTCP, confignet.TransportTypeTCP4, confignet.TransportTypeTCP6:
		_, port, err := net.SplitHostPort(endpoint)
		if err != nil || port == "" {
			return fmt.Errorf("endpoint: must be an address and a port such as %s, got %q", defaultEndpoint, endpoint)
		}
		if n, err := strconv.Atoi(port); err == nil && (n < 0 || n > math.MaxUint16) || errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("endpoint: the port must be from 0 to %d, got %q", math.MaxUint16, endpoint)
		}
	default:
		return fmt.Errorf("transport: must be tcp, tcp4, tcp6 or unix, got %q", transport)
	}
	return nil
}

// grafanaPlaceholders are what the page fills in, in parts/grafana.tsx.
var grafanaPlaceholders = []string{"{cluster}", "{node}", "{gpu}", "{name}", "{from}", "{to}"}

// checkGrafanaURL returns what is wrong with a template. In scheme and host, url.Parse refuses placeholders: what a node reports never selects the host.
func checkGrafanaURL(template string) error {
	u, err := url.Parse(template)
	if err != nil {
		return fmt.Errorf("%q is not an address: %w", template, errors.Unwrap(err))
	}
	if u.Opaque != "" || u.Scheme != "" && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return fmt.Errorf("must begin with http:// or https://, or be relative to the page, got %q", template)
	}
	rest := template
	for _, name := range grafanaPlaceholders {
		rest = strings.ReplaceAll(rest, name, "")
	}
	if strings.ContainsAny(rest, "{}") {
		return fmt.Errorf("has an unknown placeholder: allowed are %s, got %q", strings.Join(grafanaPlaceholders, ", "), template)
	}
	return nil
}

// sameEndpoint reports whether two servers cannot both listen. Port 0 is a free port.
func (c *Config) sameEndpoint(other *Config) bool {
	own, others := c.Server.NetAddr, other.Server.NetAddr
	if own.Transport == confignet.TransportTypeUnix || others.Transport == confignet.TransportTypeUnix {
		return own.Transport == others.Transport && own.Endpoint == others.Endpoint
	}
	host, port, err := net.SplitHostPort(own.Endpoint)
	otherHost, otherPort, otherErr := net.SplitHostPort(others.Endpoint)
	return err == nil && otherErr == nil && port == otherPort && port != "0" && host == otherHost
}

// warnings returns what is allowed but most likely not meant.
func (c *Config) warnings(loopback bool) []string {
	var found []string
	if !loopback && c.Server.NetAddr.Transport != confignet.TransportTypeUnix && !c.Server.Auth.HasValue() {
		found = append(found, "endpoint: anyone who can reach this address sees every GPU, process and pod; set auth and tls, or a loopback address")
	}
	if cors := c.Server.CORS.Get(); cors != nil && slices.Contains(cors.AllowedOrigins, "*") {
		found = append(found, "cors::allowed_origins: *: any website in a browser that reaches this address can read what is served; list the origins")
	}
	return found
}

func durationWithin(key string, value, low, high time.Duration) error {
	if value < low || value > high {
		return fmt.Errorf("%s: must be from %s to %s, got %s", key, low, high, value)
	}
	return nil
}

func shareWithin(key string, value float64) error {
	if value >= 0 && value <= 1 {
		return nil
	}
	return fmt.Errorf("%s: must be from 0 to 1, got %v", key, value)
}

func countWithin(key string, value, high int) error {
	if value < 1 || value > high {
		return fmt.Errorf("%s: must be from 1 to %d, got %d", key, high, value)
	}
	return nil
}
