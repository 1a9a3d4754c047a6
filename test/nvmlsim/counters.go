//go:build linux && cgo

package nvmlsim

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

static unsigned long long call_name(void *f, const char *name) { return ((unsigned long long (*)(const char *))f)(name); }
static unsigned long long call_total(void *f) { return ((unsigned long long (*)(void))f)(); }
static unsigned int call_number(void *f) { return ((unsigned int (*)(void))f)(); }
static const char *call_text(void *f) { return ((const char *(*)(void))f)(); }
static void call_reset(void *f) { ((void (*)(void))f)(); }
*/
import "C"

import (
	"errors"
	"time"
	"unsafe"
)

// Counters reads the call counts of the library in this process.
type Counters struct {
	calls, errors, time, total, totalErrors, totalTime, outstanding, waiting, generation, reset, lastError unsafe.Pointer
}

// OpenCounters finds the counters of a library of Build. If the code under test has not loaded the library yet, OpenCounters loads it.
func OpenCounters(path string) (*Counters, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	// Not RTLD_GLOBAL: that is the decision of the user of NVML. The handle is kept open, so the pointers stay valid.
	handle := C.dlopen(name, C.RTLD_LAZY)
	if handle == nil {
		return nil, errors.New(C.GoString(C.dlerror()))
	}
	var missing error
	symbol := func(name string) unsafe.Pointer {
		c := C.CString(name)
		defer C.free(unsafe.Pointer(c))
		p := C.dlsym(handle, c)
		if p == nil {
			missing = errors.New(path + " lacks " + name)
		}
		return p
	}
	counters := &Counters{
		calls:       symbol("nvmlsimCallCount"),
		errors:      symbol("nvmlsimErrorCount"),
		time:        symbol("nvmlsimDriverTime"),
		total:       symbol("nvmlsimTotalCalls"),
		totalErrors: symbol("nvmlsimTotalErrors"),
		totalTime:   symbol("nvmlsimTotalDriverTime"),
		outstanding: symbol("nvmlsimOutstanding"),
		waiting:     symbol("nvmlsimWaiting"),
		generation:  symbol("nvmlsimGeneration"),
		reset:       symbol("nvmlsimResetCalls"),
		lastError:   symbol("nvmlsimLastError"),
	}
	return counters, missing
}

// Calls returns the number of calls of a function ("nvmlDeviceGetPowerUsage") since the last Reset.
func (c *Counters) Calls(function string) uint64 { return byName(c.calls, function) }

// Errors returns the number of failed calls of it. Size queries and "nothing new" do not count as failures, see README.md.
func (c *Counters) Errors(function string) uint64 { return byName(c.errors, function) }

// DriverTime returns how long a real driver would have taken for the calls of a function, by the scenario's [cost].
func (c *Counters) DriverTime(function string) time.Duration {
	return time.Duration(byName(c.time, function))
}

// TotalDriverTime returns the sum of DriverTime.
func (c *Counters) TotalDriverTime() time.Duration { return time.Duration(C.call_total(c.totalTime)) }

// TotalCalls returns the sum of Calls.
func (c *Counters) TotalCalls() uint64 { return uint64(C.call_total(c.total)) }

// TotalErrors returns the sum of Errors.
func (c *Counters) TotalErrors() uint64 { return uint64(C.call_total(c.totalErrors)) }

// Outstanding returns the number of calls that are inside the library now.
func (c *Counters) Outstanding() int { return int(C.call_number(c.outstanding)) }

// Waiting is the number of those calls that wait, such as one that hangs. It is smaller for moments: the end of the wait is looked for.
func (c *Counters) Waiting() int { return int(C.call_number(c.waiting)) }

// Generation grows whenever the state is rebuilt, for example after a change of the control file.
func (c *Counters) Generation() uint64 { return uint64(C.call_total(c.generation)) }

// LastError returns the error in the scenario or control file that was read last, or "".
func (c *Counters) LastError() string { return C.GoString(C.call_text(c.lastError)) }

// Reset sets all counts to zero.
func (c *Counters) Reset() { C.call_reset(c.reset) }

func byName(f unsafe.Pointer, function string) uint64 {
	name := C.CString(function)
	defer C.free(unsafe.Pointer(name))
	return uint64(C.call_name(f, name))
}
