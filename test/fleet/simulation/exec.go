// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// ServerTLS is a kubelet's TLS configuration: it accepts only the API server.
func ServerTLS(certificate, key, clientCA string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(clientCA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New(clientCA + ": no certificate in it")
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
	}, nil
}

// Execs runs commands in the driver pods of all nodes: /exec/<namespace>/<pod>/<container>, over SPDY, as the API server
// asks a kubelet.
type Execs struct {
	Shell *Shell
	// Find returns the machine on which a pod runs, nil if there is no such pod.
	Find func(namespace, pod string) (*Machine, Workload)

	Served  atomic.Int64
	Refused atomic.Int64
	Broken  atomic.Int64 // ended before their command did
	Bytes   atomic.Int64
}

// streamWait bounds the making of the streams, and the end of a connection.
const streamWait = 10 * time.Second

// ServeHTTP implements http.Handler.
func (e *Execs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(path) != 4 || path[0] != "exec" {
		e.Refused.Add(1)
		http.NotFound(w, r)
		return
	}
	machine, workload := e.Find(path[1], path[2])
	if machine == nil {
		e.Refused.Add(1)
		http.Error(w, "container not found", http.StatusNotFound)
		return
	}
	if err := e.serve(w, r, machine, workload); err != nil {
		e.Broken.Add(1)
		return
	}
	e.Served.Add(1)
}

// quietly returns connections that close without an error: after an error, spdystream keeps a goroutine for ten minutes.
type quietly struct{ http.ResponseWriter }

func (q quietly) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := q.ResponseWriter.(http.Hijacker).Hijack()
	return closing{conn}, rw, err
}

type closing struct{ net.Conn }

func (c closing) Close() error {
	_ = c.Conn.Close()
	return nil
}

// counter counts what is written.
type counter struct {
	io.Writer
	n *atomic.Int64
}

func (c counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n.Add(int64(n))
	return n, err
}

var errStreams = errors.New("the streams were not made")

func (e *Execs) serve(w http.ResponseWriter, r *http.Request, m *Machine, workload Workload) error {
	if _, err := httpstream.Handshake(r, w, []string{remotecommand.StreamProtocolV4Name}); err != nil {
		return err
	}
	query := r.URL.Query()
	streams := make(chan httpstream.Stream, 3)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(quietly{w}, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
		streams <- stream
		return nil
	})
	if conn == nil {
		return errors.New("no upgrade")
	}
	defer func() { _ = conn.Close() }()
	timer := time.NewTimer(streamWait)
	defer timer.Stop()
	writers := make(map[string]io.WriteCloser, 3)
	for len(writers) < 3 {
		select {
		case stream := <-streams:
			writers[stream.Headers().Get(corev1.StreamType)] = stream
		case <-conn.CloseChan():
			return errStreams
		case <-timer.C:
			return errStreams
		}
	}
	code, err := e.Shell.Run(m, workload, query["command"], time.Now(), counter{writers[corev1.StreamTypeStdout], &e.Bytes}, writers[corev1.StreamTypeStderr])
	if err != nil {
		return err
	}
	if _, err := writers[corev1.StreamTypeError].Write(status(code)); err != nil {
		return err
	}
	for _, stream := range writers {
		_ = stream.Close()
	}
	select {
	case <-conn.CloseChan():
	case <-timer.C:
	}
	return nil
}

// status is the message at the end of a command.
func status(code int) []byte {
	st := metav1.Status{Status: metav1.StatusSuccess}
	if code != 0 {
		st = metav1.Status{
			Status: metav1.StatusFailure, Reason: remotecommand.NonZeroExitCodeReason,
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: remotecommand.ExitCodeCauseType, Message: strconv.Itoa(code)}}},
		}
	}
	data, err := json.Marshal(st)
	if err != nil {
		panic(err) // of plain fields
	}
	return data
}
