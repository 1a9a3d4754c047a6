// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// newFlags returns flags whose help starts with the call of the command.
func newFlags(call string) *flag.FlagSet {
	flags := flag.NewFlagSet(call, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// parse reads flags before and after the other words, which it returns. It prints the help if that is requested.
func parse(flags *flag.FlagSet, args []string, explanation string, out io.Writer) ([]string, error) {
	var words []string
	for {
		err := flags.Parse(args)
		switch {
		case errors.Is(err, flag.ErrHelp):
			_, _ = fmt.Fprintf(out, "usage: %s [flags]\n%s\n\n", flags.Name(), explanation)
			flags.SetOutput(out)
			flags.PrintDefaults()
			return nil, err
		case err != nil:
			return nil, usageErrorf("%w; -h lists the flags", err)
		case flags.NArg() == 0:
			return words, nil
		}
		words, args = append(words, flags.Arg(0)), flags.Args()[1:]
	}
}
