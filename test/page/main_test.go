// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "write the pictures of docs/images")

// browser is the context in which tabs are opened, nil if there is no Chromium.
var browser context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	program := chromium()
	if program == "" {
		fmt.Println("SKIP: the page is not tested in a browser: chromium is missing")
		return m.Run()
	}
	profile, err := os.MkdirTemp("", "page-test")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(profile)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("lang", "en-US"), chromedp.Flag("force-device-scale-factor", "1"),
		chromedp.WSURLReadTimeout(2*time.Minute)) // a slow machine starts the browser within it
	ctx, end := chromedp.NewExecAllocator(context.Background(), options...)
	defer end()
	ctx, end = chromedp.NewContext(ctx)
	defer end()
	if err := chromedp.Do(ctx); err != nil {
		panic(fmt.Errorf("start %s: %w", program, err))
	}
	browser = ctx
	return m.Run()
}

func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
