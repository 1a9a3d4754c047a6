// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// AuthType is how the API server is found and how the receiver says who it is.
type AuthType string

// The ways, as in the Collector's other Kubernetes components.
const (
	// AuthServiceAccount uses the service account of the pod that the Collector runs in. It is the default.
	AuthServiceAccount AuthType = "serviceAccount"
	// AuthKubeConfig uses the kubeconfig file of the user: $KUBECONFIG, or ~/.kube/config.
	AuthKubeConfig AuthType = "kubeConfig"
	// AuthNone says nothing of who is asking.
	AuthNone AuthType = "none"
)

// Config says how a cluster's API is reached: by auth_type, or by endpoint, token_file and ca_file.
type Config struct {
	// AuthType is serviceAccount (default), kubeConfig or none. It is left out where token_file is given.
	AuthType AuthType `mapstructure:"auth_type"`
	// Context is the context of the kubeconfig file; its current one by default.
	Context string `mapstructure:"context"`

	// Endpoint is the API server's URL.
	Endpoint string `mapstructure:"endpoint"`
	// TokenFile holds the bearer token. It is read again, within a minute, when it changes.
	TokenFile string `mapstructure:"token_file"`
	// CAFile holds the certificates by which the API server's is checked; the system's by default.
	CAFile string `mapstructure:"ca_file"`
	// InsecureSkipVerify leaves the API server's certificate unchecked.
	InsecureSkipVerify bool `mapstructure:"insecure_skip_verify"`

	// AllowExecCredentials lets a kubeconfig file start the program that it names to get credentials.
	AllowExecCredentials bool `mapstructure:"allow_exec_credentials"`

	// QPS and Burst bound the requests to the API server; client-go's defaults (5 and 10) where they are 0.
	QPS   float32 `mapstructure:"kube_api_qps"`
	Burst int     `mapstructure:"kube_api_burst"`
}

// Check tells what is wrong with the configuration, each message with the key that it is about. It is for the Validate of
// the configuration that this one is squashed into: as a Validate of its own, the Collector would call it by the name of
// a Go field, which is no key.
func (c *Config) Check() error {
	return errors.Join(c.validateAuth(), c.validateEndpoint(), c.validateLimits())
}

func (c *Config) validateAuth() error {
	var errs []error
	switch c.AuthType {
	case "", AuthServiceAccount, AuthKubeConfig, AuthNone:
	default:
		errs = append(errs, fmt.Errorf("auth_type: %q is not known; allowed are %s, %s and %s",
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
		return fmt.Errorf("endpoint: %q is no address of an API server; it is to look like https://host:6443", withoutPassword(c.Endpoint))
	}
	switch {
	case c.AuthType == AuthNone && c.TokenFile != "":
		return fmt.Errorf("token_file: is not allowed with auth_type: %s", AuthNone)
	case c.AuthType == AuthNone:
		return nil
	case c.TokenFile == "":
		return fmt.Errorf("token_file: must be set with endpoint, or auth_type be %s", AuthNone)
	case u.Scheme != "https":
		return errors.New("endpoint: must be https where a token is sent")
	}
	return nil
}

// withoutPassword is an address for the log.
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

// Warnings tells what is allowed, but ought to be known; for the log, once, at start.
func (c *Config) Warnings() []string {
	var warnings []string
	if c.InsecureSkipVerify || (c.AuthType == AuthNone && c.Endpoint == "") {
		warnings = append(warnings, "the API server's certificate is not checked: whoever stands in between can read and change what is asked")
	}
	if c.AllowExecCredentials {
		warnings = append(warnings, "the kubeconfig file may start any program that it names")
	}
	return warnings
}
