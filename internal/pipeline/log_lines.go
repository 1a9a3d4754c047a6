// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const (
	// maxLines bounds the lines of one read, both for what is new and for what is over. A machine with sixteen GPUs has fewer; a remote
	// node that invents GPUs must not fill the log of the collector that reads the others.
	maxLines = 64
	// maxDevices bounds the devices that a line lists: sixteen GPUs with seven instances each.
	maxDevices = 128
	// maxMessageID bounds a device's ID in a message. The field has all of it.
	maxMessageID = 64
)

// line is one line of the log: what a read has brought of one kind, with all its devices.
//
// The Collector samples its log: of equal messages it keeps the first ten in ten seconds, and then every hundredth. So a message names what
// it is about, the first device, and the node or the cluster. No two lines of one read have the same message.
type line struct {
	level  zapcore.Level
	event  string // what happened
	topic  string // empty: the devices themselves
	kind   string // of the reason
	reason string
	fields []zap.Field

	devices []string // empty: the whole node
	names   []string // hw.name of each of the devices; "" without a name
}

// lines collects the lines of one read.
type lines struct {
	all   []*line
	index map[lineKey]*line
}

type lineKey struct {
	event, topic, kind string
	ofDevice           bool
}

// add adds a line, or its device to the line that says the same.
func (l *lines) add(n line, device, name string) {
	key := lineKey{n.event, n.topic, n.kind, device != ""}
	target := l.index[key]
	if target == nil {
		if l.index == nil {
			l.index = make(map[lineKey]*line)
		}
		target = &n
		l.index[key] = target
		l.all = append(l.all, target)
	}
	if device != "" {
		target.devices, target.names = append(target.devices, device), append(target.names, name)
	}
}

// sort orders lines and devices that come from a map. The names are not ordered with them.
func (l *lines) sort() {
	for _, n := range l.all {
		slices.Sort(n.devices)
	}
	slices.SortFunc(l.all, func(a, b *line) int {
		return cmp.Or(strings.Compare(a.topic, b.topic), slices.Compare(a.devices, b.devices))
	})
}

// write logs the lines with suffix appended to each message, and returns the number of those that were too many.
func (l *lines) write(logger *zap.Logger, suffix string) (more int) {
	for _, n := range l.all[:min(len(l.all), maxLines)] {
		logger.Log(n.level, n.message()+suffix, n.allFields()...)
	}
	return max(0, len(l.all)-maxLines)
}

func (l *line) message() string {
	subject := l.topic
	if len(l.devices) > 0 {
		if subject != "" {
			subject += " of "
		}
		subject += printable(l.devices[0])
		if others := len(l.devices) - 1; others == 1 {
			subject += " and 1 other"
		} else if others > 1 {
			subject += fmt.Sprintf(" and %d others", others)
		}
	}
	return l.event + ": " + subject
}

func (l *line) allFields() []zap.Field {
	var fields []zap.Field
	if l.topic != "" {
		fields = append(fields, zap.String("what", l.topic))
	}
	if len(l.devices) > 0 {
		listed := min(len(l.devices), maxDevices)
		fields = append(fields, zap.Strings("hw.id", l.devices[:listed]))
		if names := slices.DeleteFunc(slices.Clone(l.names[:listed]), func(name string) bool { return name == "" }); l.topic == "" && len(names) > 0 {
			fields = append(fields, zap.Strings("hw.name", names))
		}
		if more := len(l.devices) - listed; more > 0 {
			fields = append(fields, zap.Int("devices_not_listed", more))
		}
	}
	fields = append(fields, l.fields...)
	if l.reason != "" {
		fields = append(fields, zap.String("reason", l.reason))
	}
	return fields
}

// printable returns an ID as it may appear in a message: the console's encoder does not escape messages, and a remote node's tool may print
// anything.
func printable(id string) string {
	id = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, id)
	if runes := []rune(id); len(runes) > maxMessageID {
		return string(runes[:maxMessageID])
	}
	return id
}
