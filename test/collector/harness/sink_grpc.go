// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package harness

import (
	"context"
	"net"

	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // the exporter's default compression
)

// ServeGRPC makes the sink receive metrics over gRPC too, and returns the endpoint for an otlp exporter and how to end it.
func (s *Sink) ServeGRPC() (endpoint string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := grpc.NewServer()
	pmetricotlp.RegisterGRPCServer(server, &grpcSink{sink: s})
	go func() { _ = server.Serve(listener) }() // until it is stopped
	return listener.Addr().String(), server.Stop, nil
}

type grpcSink struct {
	pmetricotlp.UnimplementedGRPCServer
	sink *Sink
}

// Export takes a message.
func (g *grpcSink) Export(_ context.Context, request pmetricotlp.ExportRequest) (pmetricotlp.ExportResponse, error) {
	g.sink.accept(request, 0)
	return pmetricotlp.NewExportResponse(), nil
}
