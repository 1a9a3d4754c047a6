// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"net"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // what the exporters send
)

// sink receives OTLP and records the time of each node's reads.
type sink struct {
	pmetricotlp.UnimplementedGRPCServer

	endpoint string
	server   *grpc.Server

	mu       sync.Mutex // guards what follows
	reads    map[string][]time.Time
	messages int
	points   int64
	gpus     map[string]int // by node, in the last read
	named    int64          // processes with a known pod name
	largest  int            // points of one message
}

// maxMessage bounds a message.
const maxMessage = 64 << 20

func startSink() (*sink, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &sink{
		endpoint: listener.Addr().String(), server: grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage)),
		reads: make(map[string][]time.Time), gpus: make(map[string]int),
	}
	pmetricotlp.RegisterGRPCServer(s.server, s)
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

func (s *sink) stop() { s.server.Stop() }

// Export implements pmetricotlp.GRPCServer.
func (s *sink) Export(_ context.Context, request pmetricotlp.ExportRequest) (pmetricotlp.ExportResponse, error) {
	message := request.Metrics()
	points := message.DataPointCount()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages++
	s.points += int64(points)
	s.largest = max(s.largest, points)
	for _, resource := range message.ResourceMetrics().All() {
		node, ok := resource.Resource().Attributes().Get("k8s.node.name")
		if !ok {
			continue
		}
		if _, named := resource.Resource().Attributes().Get("k8s.pod.name"); named {
			s.named++
		}
		s.note(node.Str(), resource)
	}
	return pmetricotlp.NewExportResponse(), nil
}

// note records a read of a node's GPUs. All points of a read have the same time.
func (s *sink) note(node string, resource pmetric.ResourceMetrics) {
	for _, scope := range resource.ScopeMetrics().All() {
		for _, metric := range scope.Metrics().All() {
			if metric.Name() != "hw.gpu.utilization" {
				continue
			}
			ids := make(map[string]bool)
			var timestamp pcommon.Timestamp
			for _, point := range metric.Gauge().DataPoints().All() {
				if id, ok := point.Attributes().Get("hw.id"); ok {
					ids[id.Str()] = true
				}
				timestamp = point.Timestamp()
			}
			s.reads[node] = append(s.reads[node], timestamp.AsTime())
			s.gpus[node] = len(ids)
			return
		}
	}
}

// count is the total of the data received so far.
type count struct {
	messages      int
	points, named int64
	nodes, gpus   int
	largest       int
}

func (s *sink) count() count {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := count{messages: s.messages, points: s.points, named: s.named, nodes: len(s.reads), largest: s.largest}
	for _, n := range s.gpus {
		c.gpus += n
	}
	return c
}

// times returns a copy of the times of each node's reads.
func (s *sink) times() map[string][]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string][]time.Time, len(s.reads))
	for node, times := range s.reads {
		all[node] = append([]time.Time(nil), times...)
	}
	return all
}
