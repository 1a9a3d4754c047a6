// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/config/configtls"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/otelgpu/gpureceiver/internal/configkeys"
)

const (
	defaultEndpoint = "127.0.0.1:9411"
	defaultTimeout  = 30 * time.Second
	defaultMaxGap   = 5 * time.Minute
	minMaxGap       = time.Second
	maxMaxGap       = time.Hour
	minRetention    = 24 * time.Hour
)

// Config is the configuration of the gpu_ledger exporter.
type Config struct {
	// URL is the database: sqlite:PATH, postgres://… or mysql://….
	URL configopaque.String `mapstructure:"url"`

	// URLFile is a file with the URL, in place of URL. It is read at each start.
	URLFile string `mapstructure:"url_file"`

	// TLS is how the connection to PostgreSQL or MySQL is encrypted. Without it the URL decides (sslmode, tls).
	TLS configoptional.Optional[configtls.ClientConfig] `mapstructure:"tls"`

	// Migrate creates and updates the tables. Without it, the tables must have the version of this program.
	Migrate bool `mapstructure:"migrate"`

	// MaxGap is how long the time between two reads of a GPU may be. The holder of a longer time is unknown.
	MaxGap time.Duration `mapstructure:"max_gap"`

	// Retention is how long rows are kept; 0 keeps them for ever.
	Retention time.Duration `mapstructure:"retention"`

	// Report serves what otelgpu report asks.
	Report configoptional.Optional[confighttp.ServerConfig] `mapstructure:"report"`

	Timeout exporterhelper.TimeoutConfig                             `mapstructure:",squash"`
	Queue   configoptional.Optional[exporterhelper.QueueBatchConfig] `mapstructure:"sending_queue"`
	Retry   configretry.BackOffConfig                                `mapstructure:"retry_on_failure"`
}

var (
	_ confmap.Unmarshaler = (*Config)(nil)
	_ confmap.Validator   = (*Config)(nil)
)

func createDefaultConfig() component.Config {
	server := confighttp.NewDefaultServerConfig()
	server.NetAddr.Endpoint = defaultEndpoint
	queue := exporterhelper.NewDefaultQueueConfig()
	queue.NumConsumers = 1 // the reads of a GPU are counted in their order
	retry := configretry.NewDefaultBackOffConfig()
	retry.MaxElapsedTime = 0 // a record is kept until the database is back
	return &Config{
		Migrate: true,
		MaxGap:  defaultMaxGap,
		Report:  configoptional.Default(server),
		Timeout: exporterhelper.TimeoutConfig{Timeout: defaultTimeout},
		Queue:   configoptional.Some(queue),
		Retry:   retry,
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
	var errs []error
	switch {
	case c.URL == "" && c.URLFile == "":
		errs = append(errs, errors.New("url: is missing; set the database, such as sqlite:/var/lib/otelcol/ledger.db or postgres://user:password@host/database"))
	case c.URL != "" && c.URLFile != "":
		errs = append(errs, errors.New("url, url_file: only one of them can be set"))
	case c.URL != "":
		if _, err := parseURL(string(c.URL)); err != nil {
			errs = append(errs, fmt.Errorf("url: %w", err))
		}
	}
	if c.MaxGap < minMaxGap || c.MaxGap > maxMaxGap {
		errs = append(errs, fmt.Errorf("max_gap: must be from %s to %s, got %s", minMaxGap, maxMaxGap, c.MaxGap))
	}
	if c.Retention != 0 && c.Retention < minRetention {
		errs = append(errs, fmt.Errorf("retention: must be 0 or at least %s, got %s", minRetention, c.Retention))
	}
	return errors.Join(errs...)
}
