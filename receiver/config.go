// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/scraper/scraperhelper"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/configkeys"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kernellog"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// Config is the configuration of the gpu receiver.
type Config struct {
	// ControllerConfig has collection_interval, initial_delay and timeout.
	ControllerConfig timing `mapstructure:",squash"`

	metadata.MetricsBuilderConfig `mapstructure:",squash"`

	// Events switches events of the logs pipeline on and off.
	Events metadata.EventsConfig `mapstructure:"events"`

	// MaxProcesses bounds the processes that are sent for one node, those with the most memory first. 0 sends none.
	MaxProcesses int `mapstructure:"max_processes"`

	// ThrottledAfter is how long a GPU is throttled before hw.gpu.throttled.started is sent. 0: from the first read that finds it.
	ThrottledAfter time.Duration `mapstructure:"throttled_after"`

	// Attribution names this machine and configures how the users of its GPUs are found.
	Attribution attribution.Config `mapstructure:"attribution"`

	// KernelLog has the kernel's log followed for XIDs. Nil: it is not.
	KernelLog *kernellog.Config `mapstructure:"kernel_log,omitempty"`

	// Storage is the storage extension that keeps what is known and what was not accepted. Nil: nothing is kept.
	Storage *component.ID `mapstructure:"storage"`

	// Scrapers are the configured sources by key, each with its own type of configuration; see scraperKinds. Without any,
	// the default scrapers run.
	Scrapers map[string]component.Config `mapstructure:"scrapers"`
}

var (
	_ confmap.Unmarshaler = (*Config)(nil)
	_ confmap.Validator   = (*Config)(nil)
)

// Unmarshal reads the configuration, and each section below scrapers into the type of that scraper.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	section, err := conf.Sub(scrapersKey)
	if err != nil {
		return fmt.Errorf("%s: must name the scrapers, each with its settings: %s", scrapersKey, allowedScrapers())
	}
	conf.Delete(scrapersKey)
	if err := configkeys.Check("", conf.ToStringMap(), c); err != nil {
		return err
	}
	if conf.IsSet(kernelLogKey) { // also without a value
		defaults := kernellog.DefaultConfig()
		c.KernelLog = &defaults
	}
	if err := conf.Unmarshal(c); err != nil {
		return err
	}
	if interval := c.ControllerConfig.CollectionInterval; interval > 0 && !conf.IsSet("timeout") {
		c.ControllerConfig.Timeout = min(defaultTimeout, interval)
	}
	// The Collector would report these with the name of a Go field, metricsbuilderconfig.
	if err := confmap.Validate(&c.MetricsBuilderConfig); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(section.ToStringMap())) {
		cfg, err := unmarshalScraper(section, key)
		if err != nil {
			return err
		}
		if c.Scrapers == nil {
			c.Scrapers = make(map[string]component.Config)
		}
		c.Scrapers[key] = cfg
	}
	return nil
}

// unmarshalScraper reads the section of one scraper. A key without a value switches the scraper on with its defaults, which
// confmap would not do for an optional section.
func unmarshalScraper(section *confmap.Conf, key string) (component.Config, error) {
	kind, known := scraperKinds[key]
	if !known {
		return nil, fmt.Errorf("%s::%s: there is no such scraper; allowed are %s", scrapersKey, key, allowedScrapers())
	}
	settings, err := section.Sub(key)
	if err != nil {
		return nil, fmt.Errorf("%s::%s: must be a section of settings, or empty", scrapersKey, key)
	}
	cfg := kind.defaultConfig()
	path := scrapersKey + "::" + key
	if err := configkeys.Check(path+"::", settings.ToStringMap(), cfg); err != nil {
		return nil, err
	}
	if err := settings.Unmarshal(cfg); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return cfg, nil
}

// Validate returns what is wrong, each error with the full key below the receiver's own.
func (c *Config) Validate() error {
	errs := c.ControllerConfig.check()
	if c.MaxProcesses < 0 {
		errs = append(errs, fmt.Errorf("max_processes: must be 0 or more, got %d", c.MaxProcesses))
	}
	if c.ThrottledAfter < 0 || c.ThrottledAfter > 24*time.Hour || c.ThrottledAfter > 0 && c.ThrottledAfter < minDuration {
		errs = append(errs, fmt.Errorf("throttled_after: must be from 0s to 24h, with a unit, such as 1m; got %s", c.ThrottledAfter))
	}
	keys := c.scraperKeys()
	for _, key := range keys {
		if cfg, ok := c.Scrapers[key].(scraperChecker); ok {
			if err := cfg.Check(); err != nil {
				errs = append(errs, keyed(scrapersKey+"::"+key, err))
			}
		}
	}
	return errors.Join(append(errs, oneScraperPerVendor(keys), clusterAlone(keys), attributionUsed(&c.Attribution, keys), c.kernelLogUsed(), c.unusedFilters())...)
}

// scraperKeys are the keys of the scrapers that run, in order.
func (c *Config) scraperKeys() []string {
	if len(c.Scrapers) == 0 {
		return defaultScrapers
	}
	return slices.Sorted(maps.Keys(c.Scrapers))
}

// scraperConfig is the configuration of a scraper, its default one if it was not given.
func (c *Config) scraperConfig(key string) component.Config {
	if cfg, ok := c.Scrapers[key]; ok {
		return cfg
	}
	return scraperKinds[key].defaultConfig()
}

// usesKubernetes reports whether the receiver connects to a Kubernetes API.
func (c *Config) usesKubernetes() bool {
	keys := c.scraperKeys()
	return c.Attribution.Owners != nil || c.Attribution.NodeLabels != nil || slices.Contains(keys, clusterKey) || slices.Contains(keys, fleetKey)
}

// groups returns the quantities that the receivers of these signals send.
func (c *Config) groups(metrics, logs, attributed bool) gpu.Group {
	var m metadata.MetricsConfig
	var e metadata.EventsConfig
	if metrics {
		m = c.Metrics
		if c.MaxProcesses == 0 {
			record.DisableProcesses(&m)
		}
	}
	if logs {
		e = c.Events
		if !c.sendsAllocations() {
			e.ContainerGpuAllocated.Enabled, e.ContainerGpuReleased.Enabled = false, false
		}
	}
	return record.Wanted(&m, &e, attributed)
}

// attributes reports whether users of GPUs are looked for. node_name and cluster_name alone do not ask for it.
func (c *Config) attributes() bool {
	a := &c.Attribution
	return a.PodResources != nil || a.Processes != nil || a.Slurm != nil || a.Owners != nil
}

// sendsProcessEvents reports whether events of processes are enabled.
func (c *Config) sendsProcessEvents() bool {
	return c.Events.ProcessGpuStarted.Enabled || c.Events.ProcessGpuExited.Enabled
}

// sendsAllocations reports whether events of allocations are enabled, and the kubelet or Slurm is queried for allocations.
func (c *Config) sendsAllocations() bool {
	a := &c.Attribution
	return (a.PodResources != nil || a.Slurm != nil) && (c.Events.ContainerGpuAllocated.Enabled || c.Events.ContainerGpuReleased.Enabled)
}

// sendsPods reports whether anything that these signals send names pods. local is whether the sources are on this machine: remote sources
// report neither XIDs nor allocations.
func (c *Config) sendsPods(metrics, logs, local bool) bool {
	return metrics || logs && (c.sendsProcessEvents() || c.Events.HwGpuStatus.Enabled || local && (c.Events.HwGpuXid.Enabled || c.sendsAllocations()))
}

// controller returns the configuration of the Collector's controllers.
func (c *Config) controller() *scraperhelper.ControllerConfig {
	return (*scraperhelper.ControllerConfig)(&c.ControllerConfig)
}

func (c *Config) logsBuilderConfig() metadata.LogsBuilderConfig {
	return metadata.LogsBuilderConfig{Events: c.Events, ResourceAttributes: c.ResourceAttributes}
}
