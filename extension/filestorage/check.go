// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package filestorage // import "github.com/otelgpu/gpureceiver/extension/filestorage"

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"go.uber.org/zap"
)

// ofComponent are the names that file_storage gives to the files of components; long ones are hashed. Other files of the directory are not its own.
var ofComponent = regexp.MustCompile(`^((receiver|processor|exporter|extension|connector|other)_[a-z].*|[0-9a-f]{64})$`)

// lockTimeout is shorter than bbolt's first wait for the lock of a file: one that is in use is not waited for.
const lockTimeout = time.Millisecond

// asideSuffix is also the suffix of file_storage for what it renames itself, with `recreate`.
const asideSuffix = ".backup"

// errDangling is the error of a link to a missing file. It is not renamed, because the target may be on a disk that is not mounted yet.
var errDangling = errors.New("is a symbolic link to a file that does not exist, and nothing is created at its target: mount the disk of the target, or remove the link")

// setDamagedAside renames what cannot be opened. It returns an error if a file cannot be renamed, because to open it would end the process, and for a
// link to a missing file, because to open it would create the target.
func (c *checked) setDamagedAside(ctx context.Context) error {
	entries, err := os.ReadDir(c.config.Directory)
	if err != nil {
		return nil //nolint:nilerr // file_storage reports it to those that use the directory
	}
	for _, entry := range entries {
		if !ofComponent.MatchString(entry.Name()) || filepath.Ext(entry.Name()) == asideSuffix {
			continue
		}
		path := filepath.Join(c.config.Directory, entry.Name())
		damage := check(path)
		if damage == nil {
			continue
		}
		if errors.Is(damage, errDangling) {
			return fmt.Errorf("the file %s %w", path, damage)
		}
		aside := path + "." + time.Now().UTC().Format("20060102T150405.000Z0700") + asideSuffix
		if err := os.Rename(path, aside); err != nil {
			return fmt.Errorf("the file %s is damaged (%w) and cannot be set aside: %w; remove it while the collector is stopped", path, damage, err)
		}
		c.damaged.Add(ctx, 1)
		c.logger.Warn("Damaged storage file set aside", zap.String("file", path), zap.String("renamed_to", aside), zap.Error(damage),
			zap.String("effect", "the collector starts with an empty file; the events, states or queued data in the damaged file are not used"),
			zap.String("remedy", "check the disk and its file system, and remove the renamed file when it is no longer needed"))
	}
	return nil
}

// check returns an error if opening a file would end the process, write to another place or fail because of its content. It returns nil if the
// file cannot be checked, for example because another process has it open: file_storage then says why it cannot be opened.
func check(path string) (damage error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errDangling
	case err != nil:
		return nil //nolint:nilerr // file_storage cannot open it either
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case info.Size() == 0:
		return nil // as before the first use
	}
	// A page that the file lacks, or an address outside the file, is then a panic of this goroutine and not the end of the process.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if cause := recover(); cause != nil {
			damage = fmt.Errorf("its content is damaged: %v", cause)
		}
	}()
	// Opened to read only, bbolt does not read the pages in a goroutine of its own.
	db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if err != nil {
		var system *fs.PathError
		var number syscall.Errno
		if errors.As(err, &system) || errors.As(err, &number) || errors.Is(err, berrors.ErrTimeout) {
			return nil
		}
		return err
	}
	defer func() { _ = db.Close() }()
	return db.View(func(tx *bbolt.Tx) error {
		if used := tx.Size(); info.Size() < used {
			return fmt.Errorf("it contains %d of %d bytes", info.Size(), used)
		}
		return tx.ForEach(func(_ []byte, bucket *bbolt.Bucket) error {
			if err := checkBucket(bucket); err != nil {
				return err
			}
			// A page's header may claim more pages than there are. bbolt would note each of them when it looks for the free pages.
			stats := bucket.Stats()
			pages := stats.BranchPageN + stats.BranchOverflowN + stats.LeafPageN + stats.LeafOverflowN
			if size := int64(pages) * int64(tx.DB().Info().PageSize); size > info.Size() {
				return fmt.Errorf("its pages need %d bytes, and it contains %d", size, info.Size())
			}
			return nil
		})
	})
}

// checkBucket reads all keys of a bucket.
func checkBucket(bucket *bbolt.Bucket) error {
	var last []byte
	return bucket.ForEach(func(key, value []byte) error {
		if last != nil && bytes.Compare(last, key) >= 0 {
			return errors.New("its keys are not in order")
		}
		last = key
		if value == nil {
			return checkBucket(bucket.Bucket(key))
		}
		return nil
	})
}
