package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
)

// Some bytes of a store say nothing that is not known without them, because nothing in it is
// encrypted: the number of the key at the beginning of each log, which is 0, and the registry of
// the keys, which is empty. Badger refuses to open the store when one of them is damaged. So they
// are made anew, and nothing is lost.

// keyNumberBytes is the length of the number of a log's key, which is its first field.
const keyNumberBytes = 8

// registryText ends a registry of keys that has none.
var registryText = []byte("Hello Badger")

// registryBytes is the length of a registry without keys: 16 bytes that have no meaning here,
// and registryText.
const registryBytes = 16 + 12

// mendHeads makes the damaged ones anew, and says so in the log.
func mendHeads(dir string, log *slog.Logger) error {
	for _, kind := range []string{".mem", ".vlog"} {
		logs, err := filesOfKind(dir, kind)
		if err != nil {
			return err
		}
		for _, path := range logs {
			if err := mendLog(path, log); err != nil {
				return fmt.Errorf("file %s: %w", path, err)
			}
		}
	}
	path := filepath.Join(dir, badger.KeyRegistryFileName)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(b) == registryBytes && bytes.HasSuffix(b, registryText) {
		return nil
	}
	if err != nil {
		return err
	}
	noteMended(log, path)
	return os.Remove(path) // Badger makes a new one
}

// mendLog gives a log the number of no key.
func mendLog(path string, log *slog.Logger) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	var number [keyNumberBytes]byte
	if n, err := file.ReadAt(number[:], 0); n < len(number) || number == [keyNumberBytes]byte{} {
		return errors.Join(ignoreEnd(err), file.Close())
	}
	noteMended(log, path)
	_, err = file.WriteAt(make([]byte, keyNumberBytes), 0)
	return errors.Join(err, file.Close())
}

func noteMended(log *slog.Logger, path string) {
	if log != nil {
		log.Warn("a file of the store is damaged where it has no data; it is made anew, and nothing is lost", "file", path)
	}
}
