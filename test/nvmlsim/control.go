package nvmlsim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Environment variables that the library reads at nvmlInit.
const (
	// EnvScenario names the path of the scenario file.
	EnvScenario = "NVMLSIM_SCENARIO"
	// EnvControl names the path of the control file, by default the scenario's path with ".control" appended. With "none" there is no
	// control file, and the library has no thread of its own.
	EnvControl = "NVMLSIM_CONTROL"
	// EnvStats names a file to which the library writes its call counts at every Control.Set and at the last shutdown.
	EnvStats = "NVMLSIM_STATS"
)

// TB is the part of testing.TB that Use needs, so that the package does not import testing.
type TB interface {
	Helper()
	Setenv(key, value string)
	TempDir() string
	Fatal(args ...any)
}

// Use writes a scenario for one test, sets the environment variables for this process, and returns the control of the library. The code
// under test has to initialise NVML after this.
func Use(t TB, scenario string) *Control {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.scenario")
	if err := os.WriteFile(path, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	return UseFile(t, path)
}

// UseFile is Use with an existing scenario file, or with the default one of eight healthy GPUs if path is "".
func UseFile(t TB, path string) *Control {
	t.Helper()
	control := NewControl(filepath.Join(t.TempDir(), "control"))
	t.Setenv(EnvScenario, path)
	t.Setenv(EnvControl, control.path)
	return control
}

// Control changes a running simulation: faults, events, time and values, in the syntax of a scenario. Its content replaces its earlier
// content and extends the scenario.
type Control struct {
	path string

	mu  sync.Mutex
	seq int
}

// NewControl returns the control file at path. EnvControl has to name the same path.
func NewControl(path string) *Control {
	return &Control{path: path}
}

// Path returns the path of the control file.
func (c *Control) Path() string { return c.path }

// Write replaces the control file and does not wait. It is for the time before nvmlInit, and for processes without the library.
func (c *Control) Write(text string) error {
	_, err := c.write(text)
	return err
}

// Set replaces the control file and returns when the library, in this process or another, has applied it.
func (c *Control) Set(text string) error {
	want, err := c.write(text)
	if err != nil {
		return err
	}
	const patience = time.Minute
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		answer, err := os.ReadFile(c.path + ".ack")
		if err != nil {
			continue
		}
		got, problem, _ := strings.Cut(string(answer), "\n")
		if got != want {
			continue
		}
		if problem != "" {
			return errors.New(problem)
		}
		return nil
	}
	return fmt.Errorf("no library took %s within %v: is NVML initialised?", c.path, patience)
}

// Clear ends all faults and changes made through this control.
func (c *Control) Clear() error { return c.Set("") }

func (c *Control) write(text string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	ack := strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(c.seq)
	temporary := c.path + ".new"
	if err := os.WriteFile(temporary, []byte("ack = "+ack+"\n"+text+"\n"), 0o600); err != nil {
		return "", err
	}
	return ack, os.Rename(temporary, c.path)
}
