// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
)

var _ confmap.Marshaler = Config{}

// Marshal writes the configuration as it is read, for `print-config`: the scrapers stand in no field that is seen otherwise.
func (c Config) Marshal(conf *confmap.Conf) error {
	type fields Config // without this method
	if err := conf.Marshal(fields(c)); err != nil {
		return err
	}
	return conf.Marshal(map[string]map[string]component.Config{scrapersKey: c.scrapers})
}
