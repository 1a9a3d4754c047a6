// Package nvmlsim builds and controls a simulated libnvidia-ml.so.1, for tests and demonstrations only.
//
// A test builds the library once (Build), names a scenario (Scenario, or SetEnv), and the code under test loads the library by its path. A
// Control changes faults at run time. Counters, if cgo is enabled, count the calls of each function. README.md describes scenario and
// control files.
package nvmlsim

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"
)

// Library contains the paths of the variants of the built library.
type Library struct {
	// Dir contains all files, for LD_LIBRARY_PATH.
	Dir string
	// Full exports every function.
	Full string
	// Driver450 and Driver470 export the functions of drivers of those branches. The binding of a Go process keeps the functions of the
	// first library it loaded, so each variant needs a separate process.
	Driver450, Driver470 string
	// NotNVML is a shared object without any NVML function.
	NotNVML string
	// Sweep is the bare C benchmark.
	Sweep string
}

// ErrNoCompiler is returned if this machine cannot build C; a test then skips.
var ErrNoCompiler = errors.New("nvmlsim needs make and a C compiler")

var build = sync.OnceValues(buildCached)

// Build builds the library once for all test processes. It is kept in the temporary directory under the hash of its sources.
func Build() (Library, error) {
	return build()
}

// BuildAbsent builds, in dir, a library that lacks the given functions, and returns its path.
func BuildAbsent(dir string, functions ...string) (string, error) {
	source, err := SourceDir()
	if err != nil {
		return "", err
	}
	if err := runMake(source, dir, "absent", "FUNCS="+strings.Join(functions, ",")); err != nil {
		return "", err
	}
	return filepath.Join(dir, "libnvidia-ml.so.1"), nil
}

func libraryIn(dir string) Library {
	const name = "libnvidia-ml.so.1"
	return Library{
		Dir:       dir,
		Full:      filepath.Join(dir, name),
		Driver450: filepath.Join(dir, "driver450", name),
		Driver470: filepath.Join(dir, "driver470", name),
		NotNVML:   filepath.Join(dir, "notnvml", name),
		Sweep:     filepath.Join(dir, "sweep"),
	}
}

func buildCached() (Library, error) {
	source, err := SourceDir()
	if err != nil {
		return Library{}, err
	}
	hash, err := hashSources(source)
	if err != nil {
		return Library{}, err
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("nvmlsim-%d-%s", os.Getuid(), hash))
	if _, err := os.Stat(dir); err == nil {
		return libraryIn(dir), nil
	}
	// Other processes may build the same library at this moment. The first to finish installs its result.
	temporary, err := os.MkdirTemp(os.TempDir(), "nvmlsim-build-")
	if err != nil {
		return Library{}, err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	if err := runMake(source, temporary, "all"); err != nil {
		return Library{}, err
	}
	if err := os.Rename(temporary, dir); err != nil {
		if _, lost := os.Stat(dir); lost != nil {
			return Library{}, err
		}
	}
	return libraryIn(dir), nil
}

func runMake(source, out string, arguments ...string) error {
	makePath, err := exec.LookPath("make")
	if err != nil {
		return ErrNoCompiler
	}
	if _, err := exec.LookPath("cc"); err != nil {
		return ErrNoCompiler
	}
	arguments = append([]string{"-s", fmt.Sprintf("-j%d", runtime.NumCPU()), "-C", source, "OUT=" + out}, arguments...)
	output, err := exec.Command(makePath, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("building the simulated NVML: %w\n%s", err, output)
	}
	return nil
}

// SourceDir finds test/nvmlsim of this module from the working directory, which for a test is its package's.
func SourceDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		source := filepath.Join(dir, "test", "nvmlsim")
		if _, err := os.Stat(filepath.Join(source, "src", "functions.def")); err == nil {
			return source, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("test/nvmlsim is in no folder above the working directory")
		}
		dir = parent
	}
}

// ScenarioFile returns the path of a scenario that comes with the simulator, for example "demo".
func ScenarioFile(name string) (string, error) {
	source, err := SourceDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(source, "scenarios", name+".scenario")
	_, err = os.Stat(path)
	return path, err
}

func hashSources(source string) (string, error) {
	var files []string
	err := filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "out" {
			return filepath.SkipDir
		}
		switch filepath.Ext(path) {
		case ".c", ".h", ".def":
			files = append(files, path)
		}
		if entry.Name() == "Makefile" {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	sort.Strings(files)
	hash := sha256.New()
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(hash, "%s %d\n", filepath.Base(file), len(content))
		hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}
