// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// Config is the configuration of the gpu receiver.
type Config struct {
	ControllerConfig timing `mapstructure:",squash"`

	metadata.MetricsBuilderConfig `mapstructure:",squash"`

	// Events switches events of the logs pipeline on and off.
	Events metadata.EventsConfig `mapstructure:"events"`

	// MaxProcesses bounds the processes that are sent of one node, those with the most memory first. 0 sends none.
	MaxProcesses int `mapstructure:"max_processes"`

	// Attribution says which machine this is, and finds who uses its GPUs.
	Attribution attribution.Config `mapstructure:"attribution"`

	// scrapers are the configured sources by key; filled by Unmarshal. None: the defaults.
	scrapers map[string]component.Config
}

var (
	_ confmap.Unmarshaler = (*Config)(nil)
	_ confmap.Validator   = (*Config)(nil)
)

const scrapersKey = "scrapers"

// Unmarshal reads the configuration, and each scraper's part of it into that scraper's own type.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	section, err := conf.Sub(scrapersKey)
	if err != nil {
		return fmt.Errorf("%s: must name the scrapers, each with its settings: %s", scrapersKey, allowedScrapers())
	}
	conf.Delete(scrapersKey)
	if err := wrongKeys("", conf.ToStringMap(), c, scrapersKey); err != nil {
		return err
	}
	if err := conf.Unmarshal(c); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(section.ToStringMap())) {
		kind, known := scraperKinds[key]
		if !known {
			return fmt.Errorf("%s::%s: there is no such scraper; allowed are %s", scrapersKey, key, allowedScrapers())
		}
		settings, err := section.Sub(key)
		if err != nil {
			return fmt.Errorf("%s::%s: must be a section of settings, or empty", scrapersKey, key)
		}
		cfg := kind.defaultConfig()
		path := scrapersKey + "::" + key
		if err := wrongKeys(path+"::", settings.ToStringMap(), cfg); err != nil {
			return err
		}
		if err := settings.Unmarshal(cfg); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if c.scrapers == nil {
			c.scrapers = make(map[string]component.Config)
		}
		c.scrapers[key] = cfg
	}
	return nil
}

// Validate tells what is wrong, each with the full key below the receiver's own.
func (c *Config) Validate() error {
	errs := wrongDurations(&c.ControllerConfig)
	if c.MaxProcesses < 0 {
		errs = append(errs, fmt.Errorf("max_processes: must be 0 or more, got %d", c.MaxProcesses))
	}
	keys := c.scraperKeys()
	for _, key := range keys {
		if v, ok := c.scrapers[key].(interface{ Validate() error }); ok {
			if err := v.Validate(); err != nil {
				errs = append(errs, keyed(scrapersKey+"::"+key, err))
			}
		}
	}
	return errors.Join(append(errs, oneScraperPerVendor(keys), clusterAlone(keys))...)
}

// keyed puts a key before an error, and before each of several that were joined.
func keyed(key string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fmt.Errorf("%s::%w", key, err)
	}
	var errs []error
	for _, e := range joined.Unwrap() {
		errs = append(errs, keyed(key, e))
	}
	return errors.Join(errs...)
}

// oneScraperPerVendor refuses scrapers that would report the same GPU twice.
func oneScraperPerVendor(keys []string) error {
	var errs []error
	first := map[string]string{}
	for _, key := range keys {
		vendor := string(scraperKinds[key].vendor)
		if vendor == "" {
			continue // it reads no GPU of this machine
		}
		if other, taken := first[vendor]; taken {
			errs = append(errs, fmt.Errorf("%s::%s and %s::%s: both read the %s GPUs of this machine, which would be reported twice; keep one",
				scrapersKey, other, scrapersKey, key, vendor))
			continue
		}
		first[vendor] = key
	}
	return errors.Join(errs...)
}

// scraperKeys are the keys of the scrapers that run, in order.
func (c *Config) scraperKeys() []string {
	if len(c.scrapers) == 0 {
		return defaultScrapers
	}
	keys := make([]string, 0, len(c.scrapers))
	for key := range c.scrapers {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// scraperConfig is the configuration of a scraper, its default one where none was given.
func (c *Config) scraperConfig(key string) component.Config {
	if cfg, ok := c.scrapers[key]; ok {
		return cfg
	}
	return scraperKinds[key].defaultConfig()
}

// usesKubernetes tells whether the Kubernetes API is asked for anything.
func (c *Config) usesKubernetes() bool {
	keys := c.scraperKeys()
	return c.Attribution.Owners != nil || slices.Contains(keys, clusterKey) || slices.Contains(keys, fleetKey)
}

// wanted tells what the pipelines that there are need to be read.
func (c *Config) wanted(metrics, logs, attributed bool) gpu.Group {
	var m metadata.MetricsConfig
	var e metadata.EventsConfig
	if metrics {
		m = c.Metrics
		if c.MaxProcesses == 0 { // none of them is sent
			m.ProcessGpuMemoryUsage.Enabled, m.ProcessGpuUtilization.Enabled = false, false
		}
	}
	if logs {
		e = c.Events
	}
	return record.Wanted(&m, &e, metrics && attributed)
}

// tellsProcesses tells whether the events of processes are sent.
func (c *Config) tellsProcesses() bool {
	return c.Events.ProcessGpuStarted.Enabled || c.Events.ProcessGpuExited.Enabled
}

// namesPods tells whether what the pipelines send has names of pods in it.
func (c *Config) namesPods(metrics, logs bool) bool { return metrics || logs && c.tellsProcesses() }

// newProcessWatch returns nil where the events of processes are not sent.
func (c *Config) newProcessWatch() *processWatch {
	if !c.tellsProcesses() {
		return nil
	}
	return &processWatch{}
}

func allowedScrapers() string {
	keys := make([]string, 0, len(scraperKinds))
	for key := range scraperKinds {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return strings.Join(keys, ", ")
}
