// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// AuthType is how the API server is found and how the receiver authenticates.
type AuthType string

// The types, as in the Collector's other Kubernetes components.
const (
	// AuthServiceAccount uses the service account of the pod that the Collector runs in. It is the default.
	AuthServiceAccount AuthType = "serviceAccount"
	// AuthKubeConfig uses the kubeconfig file of the user: $KUBECONFIG, or ~/.kube/config.
	AuthKubeConfig AuthType = "kubeConfig"
	// AuthNone does not authenticate.
	AuthNone AuthType = "none"
)

// Config is how a cluster's API is reached: by auth_type, or by endpoint, token_file and ca_file.
type Config struct {
	// AuthType is serviceAccount (default), kubeConfig or none; empty with token_file.
	AuthType AuthType `mapstructure:"auth_type"`
	// Context is a context of the kubeconfig file; the current one by default.
	Context string `mapstructure:"context"`

	// Endpoint is the API server's URL.
	Endpoint string `mapstructure:"endpoint"`
	// TokenFile holds the bearer token. It is read again, within a minute, when it changes.
	TokenFile string `mapstructure:"token_file"`
	// CAFile holds the certificate authorities for the API server's certificate; the system's by default.
	CAFile string `mapstructure:"ca_file"`
	// InsecureSkipVerify does not verify the API server's certificate.
	InsecureSkipVerify bool `mapstructure:"insecure_skip_verify"`

	// AllowExecCredentials allows a kubeconfig file to start the program that it names for credentials.
	AllowExecCredentials bool `mapstructure:"allow_exec_credentials"`

	// QPS and Burst bound the requests to the API server, per second; 0 selects client-go's defaults (5 and 10).
	QPS   float32 `mapstructure:"kube_api_qps"`
	Burst int     `mapstructure:"kube_api_burst"`
}

// Check checks the configuration. Each error has its key. It is for the Validate of the configuration that embeds this one: the
// Collector would report the error of a Validate here with the name of a Go field, which is not a key.
func (c *Config) Check() error {
	return errors.Join(c.validateAuth(), c.validateEndpoint(), c.validateLimits())
}

func (c *Config) validateAuth() error {
	var errs []error
	switch c.AuthType {
	case "", AuthServiceAccount, AuthKubeConfig, AuthNone:
	default:
		errs = append(errs, fmt.Errorf("auth_type: %q is unknown; allowed are %s, %s and %s",
			c.AuthType, AuthServiceAccount, AuthKubeConfig, AuthNone))
	}
	if c.Context != "" && c.AuthType != AuthKubeConfig {
		errs = append(errs, fmt.Errorf("context: is only allowed with auth_type: %s", AuthKubeConfig))
	}
	if c.AllowExecCredentials && c.AuthType != AuthKubeConfig {
		errs = append(errs, fmt.Errorf("allow_exec_credentials: is only allowed with auth_type: %s", AuthKubeConfig))
	}
	return errors.Join(errs...)
}

func (c *Config) validateEndpoint() error {
	if c.Endpoint == "" {
		var errs []error
		if c.TokenFile != "" {
			errs = append(errs, errors.New("token_file: is only allowed with endpoint"))
		}
		if c.CAFile != "" {
			errs = append(errs, errors.New("ca_file: is only allowed with endpoint"))
		}
		if c.InsecureSkipVerify {
			errs = append(errs, errors.New("insecure_skip_verify: is only allowed with endpoint"))
		}
		return errors.Join(errs...)
	}
	if c.AuthType != "" && c.AuthType != AuthNone {
		return fmt.Errorf("endpoint: is not allowed with auth_type: %s; leave auth_type out, or set it to %s", c.AuthType, AuthNone)
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || u.User != nil {
		return fmt.Errorf("endpoint: %q is not the address of an API server, such as https://host:6443", withoutPassword(c.Endpoint))
	}
	switch {
	case c.AuthType == AuthNone && c.TokenFile != "":
		return fmt.Errorf("token_file: is not allowed with auth_type: %s", AuthNone)
	case c.AuthType == AuthNone:
		return nil
	case c.TokenFile == "":
		return fmt.Errorf("token_file: must be set with endpoint, unless auth_type is %s", AuthNone)
	case u.Scheme != "https":
		return errors.New("endpoint: must be https if a token is sent")
	}
	return nil
}

// withoutPassword returns an address for the log.
func withoutPassword(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	if i := strings.LastIndexByte(address, '@'); i >= 0 {
		return "…" + address[i:]
	}
	return address
}

func (c *Config) validateLimits() error {
	var errs []error
	if c.QPS < 0 {
		errs = append(errs, fmt.Errorf("kube_api_qps: %v is negative", c.QPS))
	}
	if c.Burst < 0 {
		errs = append(errs, fmt.Errorf("kube_api_burst: %d is negative", c.Burst))
	}
	return errors.Join(errs...)
}
