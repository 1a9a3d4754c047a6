// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const userAgent = "gpureceiver"

// REST returns how to connect to the cluster. It fails if a file that the configuration names cannot be read. Whether the API server
// answers shows later.
func (c *Config) REST() (*rest.Config, error) {
	config, err := c.base()
	if err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	config.UserAgent = userAgent
	config.QPS, config.Burst = c.QPS, c.Burst
	return config, nil
}

func (c *Config) base() (*rest.Config, error) {
	switch {
	case c.Endpoint != "":
		if err := checkCAFile(c.CAFile); err != nil {
			return nil, &KeyError{Key: "ca_file", Err: err}
		}
		return &rest.Config{
			Host:            c.Endpoint,
			BearerTokenFile: c.TokenFile,
			TLSClientConfig: rest.TLSClientConfig{CAFile: c.CAFile, Insecure: c.InsecureSkipVerify},
		}, nil
	case c.AuthType == AuthKubeConfig:
		return c.kubeConfig()
	case c.AuthType == AuthNone:
		host, err := inCluster()
		if err != nil {
			return nil, fmt.Errorf("auth_type %s: %w", AuthNone, err)
		}
		return &rest.Config{Host: host, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, Proxy: noProxy}, nil
	default:
		if _, err := inCluster(); err != nil {
			return nil, fmt.Errorf("auth_type %s: %w", AuthServiceAccount, err)
		}
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("auth_type %s: %w", AuthServiceAccount, err)
		}
		config.Proxy = noProxy
		return config, nil
	}
}

// KeyError is an error of the value of a setting. Keyed gives it the setting's full key.
type KeyError struct {
	Key string // below the key of the Config
	Err error
}

func (e *KeyError) Error() string { return e.Key + ": " + e.Err.Error() }

// Unwrap returns the error without the key.
func (e *KeyError) Unwrap() error { return e.Err }

// Keyed returns an error of REST with the full key of the setting that it is about. section is the key of the Config.
func Keyed(section string, err error) error {
	if keyed := (*KeyError)(nil); errors.As(err, &keyed) {
		return fmt.Errorf("%s::%w", section, keyed)
	}
	return fmt.Errorf("%s: %w", section, err)
}

// checkCAFile reports why a file of certificate authorities, which may have no name, cannot be used.
func checkCAFile(path string) error {
	if path == "" {
		return nil
	}
	pem, err := os.ReadFile(path) //nolint:gosec // it is configured
	if err != nil {
		return err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s contains no certificate in PEM format", path)
	}
	return nil
}

// inCluster returns the address of the API server from the environment that Kubernetes gives every pod.
func inCluster() (string, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return "", errors.New("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, which Kubernetes sets in every pod; " +
			"outside of a cluster use auth_type: kubeConfig, or endpoint and token_file")
	}
	return "https://" + net.JoinHostPort(host, port), nil
}

// noProxy keeps requests to the cluster's own API server away from the proxy that the environment names.
func noProxy(*http.Request) (*url.URL, error) { return nil, nil } //nolint:nilnil // as http.Transport.Proxy specifies

func (c *Config) kubeConfig() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.Context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if clientcmd.IsEmptyConfig(err) { // client-go's own error advises a variable that this collector does not read
		return nil, fmt.Errorf("auth_type %s: no kubeconfig file at %s; set KUBECONFIG to its path",
			AuthKubeConfig, strings.Join(rules.GetLoadingPrecedence(), " or "))
	}
	if err != nil {
		return nil, fmt.Errorf("auth_type %s: read %s: %w", AuthKubeConfig, strings.Join(rules.GetLoadingPrecedence(), " and "), err)
	}
	if config.AuthProvider != nil {
		return nil, fmt.Errorf("auth_type %s: the kubeconfig names an auth provider (%s), which is not supported",
			AuthKubeConfig, config.AuthProvider.Name)
	}
	if config.ExecProvider != nil && !c.AllowExecCredentials {
		return nil, fmt.Errorf("auth_type %s: the kubeconfig file starts the program %q for credentials; "+
			"set allow_exec_credentials: true to allow it, or use token_file", AuthKubeConfig, config.ExecProvider.Command)
	}
	return config, nil
}

// Warnings returns what is allowed but risky, for the log at start.
func (c *Config) Warnings() []string {
	var warnings []string
	if c.InsecureSkipVerify || (c.AuthType == AuthNone && c.Endpoint == "") || c.kubeConfigInsecure() {
		warnings = append(warnings, "the API server's certificate is not verified: anyone on the network path can read and change the traffic")
	}
	if c.AllowExecCredentials {
		warnings = append(warnings, "the kubeconfig file can start any program that it names")
	}
	return warnings
}

// kubeConfigInsecure reports whether the kubeconfig file has insecure-skip-tls-verify.
func (c *Config) kubeConfigInsecure() bool {
	if c.AuthType != AuthKubeConfig || c.Endpoint != "" {
		return false
	}
	config, err := c.kubeConfig()
	return err == nil && config.Insecure // REST reports the error
}

// Clients are the clients of one cluster.
type Clients struct {
	Kubernetes kubernetes.Interface
	Metadata   metadata.Interface
	Dynamic    dynamic.Interface
}

// NewClients returns clients that share one connection.
func NewClients(config *rest.Config) (*Clients, error) {
	connection, err := HTTPClient(config)
	if err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	transport := withStatus(connection, longestWait)
	typed := rest.CopyConfig(config)
	// Smaller than JSON.
	typed.ContentType = "application/vnd.kubernetes.protobuf"
	typed.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	kubernetesClient, err1 := kubernetes.NewForConfigAndClient(typed, transport)
	metadataClient, err2 := metadata.NewForConfigAndClient(config, transport)
	dynamicClient, err3 := dynamic.NewForConfigAndClient(config, transport)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	return &Clients{Kubernetes: kubernetesClient, Metadata: metadataClient, Dynamic: dynamicClient}, nil
}
