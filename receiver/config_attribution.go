// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"errors"
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/attribution"
)

// attributionUsed refuses parts of the attribution where no scraper reads this machine, so that they would apply to nothing.
func attributionUsed(parts *attribution.Config, keys []string) error {
	remote := ""
	for _, key := range keys {
		switch {
		case scraperKinds[key].local():
			return nil
		case remote == "" || key == fleetKey:
			remote = key
		}
	}
	if remote == "" {
		return nil
	}
	use := map[string]string{}
	if remote == fleetKey {
		use = map[string]string{"processes": "; use attribute_pods of the scraper", "owners": "; use owners of the scraper", "node_labels": "; use node_labels of the scraper"}
	}
	var errs []error
	for _, part := range []struct {
		key   string
		given bool
	}{
		{"pod_resources", parts.PodResources != nil},
		{"processes", parts.Processes != nil},
		{"slurm", parts.Slurm != nil},
		{"owners", parts.Owners != nil},
		{"node_labels", parts.NodeLabels != nil},
		{"containers", parts.Containers != nil},
	} {
		if part.given {
			errs = append(errs, fmt.Errorf("attribution::%s: is for the GPUs of this machine, which %s::%s does not read: leave it out%s",
				part.key, scrapersKey, remote, use[part.key]))
		}
	}
	return errors.Join(errs...)
}
