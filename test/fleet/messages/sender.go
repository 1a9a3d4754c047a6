// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Sender sends messages to a collector over OTLP/gRPC. It is safe for concurrent use.
type Sender struct {
	connection *grpc.ClientConn
	client     pmetricotlp.GRPCClient
}

// NewSender returns a sender to an endpoint, host:port. It connects when it sends, and waits for a collector that starts.
func NewSender(endpoint string) (*Sender, error) {
	connection, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", endpoint, err)
	}
	return &Sender{connection: connection, client: pmetricotlp.NewGRPCClient(connection)}, nil
}

// Send sends a message.
func (s *Sender) Send(ctx context.Context, m pmetric.Metrics) error {
	answer, err := s.client.Export(ctx, pmetricotlp.NewExportRequestFromMetrics(m))
	if err != nil {
		return fmt.Errorf("send %d points: %w", m.DataPointCount(), err)
	}
	if n := answer.PartialSuccess().RejectedDataPoints(); n > 0 {
		return fmt.Errorf("send %d points: %d were rejected: %s", m.DataPointCount(), n, answer.PartialSuccess().ErrorMessage())
	}
	return nil
}

// SendRound sends one message of each agent, several at a time, and returns how many points they had.
func (s *Sender) SendRound(ctx context.Context, agents []*Node, now time.Time) (points int, err error) {
	const concurrent = 4
	next := make(chan *Node)
	var (
		mu    sync.Mutex // guards what follows
		errs  []error
		total int
	)
	var working sync.WaitGroup
	for range concurrent {
		working.Go(func() {
			for agent := range next {
				m := agent.Metrics(now)
				count := m.DataPointCount()
				err := s.Send(ctx, m)
				mu.Lock()
				total += count
				if err != nil && len(errs) < 10 {
					errs = append(errs, err)
				}
				mu.Unlock()
			}
		})
	}
	for _, agent := range agents {
		next <- agent
	}
	close(next)
	working.Wait()
	return total, errors.Join(errs...)
}

// Close ends the connection.
func (s *Sender) Close() error { return s.connection.Close() }
