//go:build linux && cgo

package nvmlsim_test

import (
	"errors"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

func library(t *testing.T) nvmlsim.Library {
	t.Helper()
	lib, err := nvmlsim.Build()
	if errors.Is(err, nvmlsim.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// start runs the full library over a scenario until the test ends.
func start(t *testing.T, scenario string) (nvml.Interface, *nvmlsim.Control) {
	t.Helper()
	control := nvmlsim.Use(t, scenario)
	return initialise(t), control
}

func initialise(t *testing.T) nvml.Interface {
	t.Helper()
	api := nvml.New(nvml.WithLibraryPath(library(t).Full))
	if ret := api.Init(); ret != nvml.SUCCESS {
		t.Fatalf("Init: %v", ret)
	}
	t.Cleanup(func() {
		if ret := api.Shutdown(); ret != nvml.SUCCESS {
			t.Errorf("Shutdown: %v", ret)
		}
	})
	return api
}

func device(t *testing.T, api nvml.Interface, index int) nvml.Device {
	t.Helper()
	d, ret := api.DeviceGetHandleByIndex(index)
	want(t, "DeviceGetHandleByIndex", ret, nvml.SUCCESS)
	return d
}

func want[T comparable](t *testing.T, subject string, got, expected T) {
	t.Helper()
	if got != expected {
		t.Errorf("%s: got %v, want %v", subject, got, expected)
	}
}

func set(t *testing.T, control *nvmlsim.Control, text string) {
	t.Helper()
	if err := control.Set(text); err != nil {
		t.Fatal(err)
	}
}
