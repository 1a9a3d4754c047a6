// Package gpureceiver is the module root.
package gpureceiver
