// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package runtimes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// containerdAPI asks containerd for a container by the method Get of containerd.services.containers.v1.Containers. Its three fields are
// decoded here: containerd's module of the API would bring ttrpc and a second logger with it.
type containerdAPI struct{ endpoint string }

// newContainerdAPI returns nil without an endpoint.
func newContainerdAPI(endpoint string) *containerdAPI {
	if endpoint == "" {
		return nil
	}
	return &containerdAPI{endpoint: endpoint}
}

func (a *containerdAPI) path() string { return strings.TrimPrefix(a.endpoint, "unix://") }

// find returns nil if containerd does not know the container.
func (a *containerdAPI) find(ctx context.Context, namespace, id string) (*Description, error) {
	failed := func(err error) error {
		return fmt.Errorf("containerd: ask %s for a container: %w", a.path(), err)
	}
	conn, err := grpc.NewClient(a.endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableServiceConfig())
	if err != nil {
		return nil, failed(err)
	}
	defer func() { _ = conn.Close() }()
	ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", namespace)
	request := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), id)
	var answer []byte
	err = conn.Invoke(ctx, "/containerd.services.containers.v1.Containers/Get", &request, &answer,
		grpc.ForceCodec(rawCodec{}), grpc.MaxCallRecvMsgSize(maxContainer))
	switch {
	case status.Code(err) == codes.NotFound:
		return nil, nil
	case err != nil:
		return nil, failed(err)
	}
	found, err := parseGetResponse(answer)
	if err != nil {
		return nil, failed(err)
	}
	return found, nil
}

// rawCodec sends and receives messages that are encoded already.
type rawCodec struct{}

// Name implements encoding.Codec.
func (rawCodec) Name() string { return "proto" }

// Marshal implements encoding.Codec.
func (rawCodec) Marshal(v any) ([]byte, error) {
	if data, ok := v.(*[]byte); ok {
		return *data, nil
	}
	return nil, fmt.Errorf("%T is not an encoded message", v)
}

// Unmarshal implements encoding.Codec.
func (rawCodec) Unmarshal(data []byte, v any) error {
	target, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("%T is not an encoded message", v)
	}
	*target = append([]byte(nil), data...)
	return nil
}

// parseGetResponse parses containerd's GetContainerResponse: container (1), with labels (2) and image (3).
func parseGetResponse(data []byte) (*Description, error) {
	found := &Description{Runtime: "containerd", Labels: make(map[string]string)}
	var image []byte
	err := eachField(data, 1, func(container []byte) error {
		err := eachField(container, 2, func(entry []byte) error {
			var key, value []byte
			last := func(target *[]byte) func([]byte) error { return func(b []byte) error { *target = b; return nil } }
			if err := errors.Join(eachField(entry, 1, last(&key)), eachField(entry, 2, last(&value))); err != nil {
				return err
			}
			found.Labels[string(key)] = string(value)
			return nil
		})
		return errors.Join(err, eachField(container, 3, func(b []byte) error { image = b; return nil }))
	})
	if err != nil {
		return nil, err
	}
	found.Name = found.Labels[nameLabel]
	found.setImage(string(image))
	return found, nil
}

// eachField calls do with each field of a message that has a number and a length, and skips the others.
func eachField(message []byte, number protowire.Number, do func([]byte) error) error {
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return errors.New("the answer is not a message of containerd's API")
		}
		message = message[size:]
		if n == number && kind == protowire.BytesType {
			value, size := protowire.ConsumeBytes(message)
			if size < 0 {
				return errors.New("the answer is not a message of containerd's API")
			}
			if err := do(value); err != nil {
				return err
			}
			message = message[size:]
			continue
		}
		size = protowire.ConsumeFieldValue(n, kind, message)
		if size < 0 {
			return errors.New("the answer is not a message of containerd's API")
		}
		message = message[size:]
	}
	return nil
}
