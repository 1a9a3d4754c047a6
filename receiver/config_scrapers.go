// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"errors"
	"fmt"
	"slices"
)

// scraperChecker is implemented by the configurations of scrapers. Check returns what is wrong, each error with its key below
// the scraper's own. It is not called Validate because confmap.Validate would call it too, and print its errors a second time
// without the full key.
type scraperChecker interface{ Check() error }

// keyed puts a key before an error, or before each of several joined errors.
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

// oneScraperPerVendor refuses two scrapers that would report the same GPU.
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

// clusterAlone refuses kubernetes_cluster beside scrapers of this machine.
func clusterAlone(keys []string) error {
	if !slices.Contains(keys, clusterKey) {
		return nil
	}
	var errs []error
	for _, key := range keys {
		if key != clusterKey && key != fleetKey {
			errs = append(errs, fmt.Errorf("%s::%s and %s::%s: the first is for one collector in a cluster, the other for each machine; "+
				"give them to different collectors", scrapersKey, clusterKey, scrapersKey, key))
		}
	}
	return errors.Join(errs...)
}
