// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/kube"
)

// sources are what the receivers of one configuration read, and what runs in each receiver.
type sources struct {
	*machine
	fleet     *fleet         // nil without kubernetes_exec
	cluster   *clusterSource // nil without kubernetes_cluster
	gate      *consumerGate  // in front of the consumers of all receivers
	receivers [numSignals]*controllers
	stopped   time.Time // when the first of the receivers was shut down
}

// newSources opens the sources to read what the receivers send, reads credentials, and makes what runs in the receivers. With an error it returns
// what was opened.
func newSources(ctx context.Context, host component.Host, i *instance) (*sources, error) {
	if i.cfg.usesKubernetes() {
		kube.LogTo(i.set.Logger)
	}
	common, err := newShared(ctx, host, i)
	if err != nil {
		return nil, err
	}
	s := &sources{gate: i.gate, receivers: [numSignals]*controllers{{}, {}}}
	if s.machine, err = newMachine(ctx, common, i.open); err != nil {
		return s, err
	}
	keys := i.cfg.scraperKeys()
	if slices.Contains(keys, fleetKey) {
		if s.fleet, err = newFleet(common); err != nil {
			return s, err
		}
	}
	if slices.Contains(keys, clusterKey) {
		if s.cluster, err = newClusterSource(ctx, common, i.set, i.connect); err != nil {
			return s, err
		}
	}
	if s.metrics != nil {
		if s.receivers[metricsSignal], err = s.metricsControllers(); err != nil {
			return s, err
		}
	}
	if s.logs != nil {
		if s.receivers[logsSignal], err = s.logsControllers(); err != nil {
			return s, err
		}
	}
	return s, errors.Join(s.observe(), s.keeper.observe())
}

// stop ends the reads and the deliveries of all receivers, sends the last events, and closes the gate.
//
// The Collector stops the components of a pipeline in the order in which data passes through them, and the components of two pipelines in
// any order. Two pipelines may share an exporter: the file exporter is one object for metrics and logs, and it is closed when the first of the two has
// stopped. So no receiver may deliver after the first of them was shut down. Until then the consumers of all of them accept data, also the last events.
//
// Receivers of other configurations, such as gpu/a beside gpu/b, go on: an exporter that they share gets data from receivers of other types, too.
//
// All receivers end in parallel. scraperhelper waits for the running scrape without cancelling it, and a scrape may hang in the driver or in a
// consumer: it is waited for no longer than waits.read, and deliveries no longer than waits.release.
func (s *sources) stop(ctx context.Context) error {
	s.stopped = time.Now()
	s.cancel()
	s.kernelLog.close()
	readsEnd, deliveriesEnd := s.stopped.Add(s.waits.read), s.stopped.Add(s.waits.release)
	errs, ended := make([]error, len(s.receivers)), make([]bool, len(s.receivers))
	var ending sync.WaitGroup
	for i, c := range s.receivers {
		ending.Go(func() {
			errs[i], ended[i] = endBy(readsEnd, s.waits.later, func() error { return c.end(ctx) })
		})
	}
	ending.Wait()
	_, finished := endBy(readsEnd, s.waits.later, func() error { s.addLastEvents(); return nil })
	for i, c := range s.receivers {
		if ended[i] { // otherwise its consumer may hang
			var err error
			err, ended[i] = endBy(deliveriesEnd, s.waits.later, func() error { return c.sendLast(ctx) })
			errs = append(errs, err)
		}
	}
	s.gate.close()
	_, delivered := endBy(deliveriesEnd, s.waits.later, s.gate.wait)
	switch {
	case !delivered:
		s.logger.Warn("Delivery did not end before the shutdown", zap.String("reason", "a component of a pipeline may hang"))
	case !finished, slices.Contains(ended, false):
		s.logger.Warn("Read did not end before the shutdown", zap.String("reason", "a call to the driver may hang"))
	}
	return errors.Join(errs...)
}

// closeInTime closes the sources after stop, and waits no longer than waits.release for a call that hangs.
func (s *sources) closeInTime() error {
	err, ended := endBy(s.stopped.Add(s.waits.release), s.waits.later, func() error { return errors.Join(s.machine.close(), s.keeper.close()) })
	if !ended {
		s.logger.Warn("Driver was not released before the shutdown", zap.String("reason", "a call to the driver may hang"))
	}
	return err
}
