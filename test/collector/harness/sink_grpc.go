// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package harness

import (
	"context"
	"net"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // the exporter's default compression
	"google.golang.org/grpc/stats"
)

// ServeGRPC makes the sink receive OTLP over gRPC too. It returns the endpoint for an otlp_grpc exporter and a function that stops it.
func (s *Sink) ServeGRPC() (endpoint string, stop func(), err error) {
	return s.ServeGRPCAt("127.0.0.1:0")
}

// ServeGRPCAt is ServeGRPC at a given address, so that a sink can go away and come back, and with further options, such as TLS.
func (s *Sink) ServeGRPCAt(address string, options ...grpc.ServerOption) (endpoint string, stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", nil, err
	}
	server := grpc.NewServer(append(options, grpc.StatsHandler(wire{s}))...)
	pmetricotlp.RegisterGRPCServer(server, &grpcMetrics{sink: s})
	plogotlp.RegisterGRPCServer(server, &grpcLogs{sink: s})
	go func() { _ = server.Serve(listener) }() // until it is stopped
	return listener.Addr().String(), server.Stop, nil
}

type grpcMetrics struct {
	pmetricotlp.UnimplementedGRPCServer
	sink *Sink
}

// Export takes a message with metrics.
func (g *grpcMetrics) Export(_ context.Context, request pmetricotlp.ExportRequest) (pmetricotlp.ExportResponse, error) {
	g.sink.accept(request, 0)
	return pmetricotlp.NewExportResponse(), nil
}

type grpcLogs struct {
	plogotlp.UnimplementedGRPCServer
	sink *Sink
}

// Export takes a message with log records.
func (g *grpcLogs) Export(_ context.Context, request plogotlp.ExportRequest) (plogotlp.ExportResponse, error) {
	g.sink.acceptLogs(request.Logs())
	return plogotlp.NewExportResponse(), nil
}

// wire counts the bytes of gRPC messages on the wire.
type wire struct{ sink *Sink }

// HandleRPC counts a message.
func (w wire) HandleRPC(_ context.Context, s stats.RPCStats) {
	if message, ok := s.(*stats.InPayload); ok {
		w.sink.mu.Lock()
		w.sink.bytes += int64(message.WireLength)
		w.sink.mu.Unlock()
	}
}

// TagRPC does nothing.
func (wire) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// TagConn does nothing.
func (wire) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn does nothing.
func (wire) HandleConn(context.Context, stats.ConnStats) {}
