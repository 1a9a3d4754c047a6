// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"

	gpureceiver "github.com/otelgpu/gpureceiver/receiver"
)

// configured is one gpu receiver of a configuration.
type configured struct {
	id      component.ID
	config  *gpureceiver.Config
	signals gpureceiver.Signals
	err     error // why the collector refuses it
}

// defaults is the receiver that runs without a configuration.
func defaults() []configured {
	factory := gpureceiver.NewFactory()
	return []configured{{
		id: component.NewID(factory.Type()), config: factory.CreateDefaultConfig().(*gpureceiver.Config),
		signals: gpureceiver.Signals{Metrics: true, Logs: true},
	}}
}

// providers are the providers of the otelcol-gpu distribution.
func providers() []confmap.ProviderFactory {
	return []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory(), yamlprovider.NewFactory()}
}

// resolve reads the configuration of a collector, which may be several that are merged, as the collector does.
func resolve(ctx context.Context, uris []string) (*confmap.Conf, error) {
	resolver, err := confmap.NewResolver(confmap.ResolverSettings{URIs: uris, ProviderFactories: providers(), DefaultScheme: "env"})
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	conf, err := resolver.Resolve(ctx)
	if err := errors.Join(err, resolver.Shutdown(ctx)); err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return conf, nil
}

// receivers returns the gpu receivers of a configuration. One that no pipeline uses does not run, and is left out.
func receivers(conf *confmap.Conf) ([]configured, error) {
	sections, err := conf.Sub("receivers")
	if err != nil {
		return nil, fmt.Errorf("read the configuration: receivers: %w", err)
	}
	used := inPipelines(conf, "receivers")
	var found []configured
	for _, key := range slices.Sorted(maps.Keys(sections.ToStringMap())) {
		var id component.ID
		if err := id.UnmarshalText([]byte(key)); err != nil || id.Type() != gpureceiver.NewFactory().Type() {
			continue
		}
		signals := used[id]
		if len(signals) == 0 {
			continue
		}
		c := configured{id: id, signals: gpureceiver.Signals{Metrics: slices.Contains(signals, "metrics"), Logs: slices.Contains(signals, "logs")}}
		c.config, c.err = receiverConfig(sections, key)
		found = append(found, c)
	}
	if len(found) == 0 {
		return nil, errors.New("the configuration contains no gpu receiver in a pipeline; add one under receivers and to service::pipelines")
	}
	return found, nil
}

func receiverConfig(sections *confmap.Conf, key string) (*gpureceiver.Config, error) {
	section, err := sections.Sub(key)
	if err != nil {
		return nil, fmt.Errorf("receivers::%s: %w", key, err)
	}
	cfg := gpureceiver.NewFactory().CreateDefaultConfig().(*gpureceiver.Config)
	if err := section.Unmarshal(cfg); err != nil {
		return nil, fmt.Errorf("receivers::%s: %w", key, err)
	}
	if err := confmap.Validate(cfg); err != nil {
		return nil, fmt.Errorf("receivers::%s: %w", key, err)
	}
	return cfg, nil
}

// inPipelines returns the components of a kind, receivers or exporters, that pipelines have, with the signals of these pipelines.
func inPipelines(conf *confmap.Conf, kind string) map[component.ID][]string {
	found := map[component.ID][]string{}
	pipelines, _ := conf.Get("service::pipelines").(map[string]any)
	for pipeline, value := range pipelines {
		section, _ := value.(map[string]any)
		names, _ := section[kind].([]any)
		signal, _, _ := strings.Cut(pipeline, "/")
		for _, name := range names {
			text, _ := name.(string)
			var id component.ID
			if id.UnmarshalText([]byte(text)) == nil {
				found[id] = append(found[id], signal)
			}
		}
	}
	return found
}
