package keyfile

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"crawlnode/local/datadir"
	"crawlnode/web/botauth"
)

// maxBotFile bounds what is read of a file with bot keys: each has some 120 bytes, and people write
// comments around them.
const maxBotFile = 16 << 10

// LoadBotKeys reads the file of --bot-key: the key that signs first; nil: none was named. It
// refuses a file that all users may read, as it does with a cluster key.
func LoadBotKeys(file string) ([]botauth.Key, error) {
	if file == "" {
		return nil, nil
	}
	keys, err := readBotKeys(file)
	if err != nil {
		return nil, datadir.Usage(fmt.Errorf("--bot-key: %w", err))
	}
	return keys, nil
}

func readBotKeys(path string) ([]botauth.Key, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the bot key: %w; make one with: crawlnode keygen --bot %s", err,
			path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the bot key: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the bot key: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("read the bot key: %s is not a file", path)
	}
	if mode := info.Mode().Perm(); mode&0o007 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("the bot key in %s can be read by all users (mode %04o): chmod 600 %s",
			path, mode, path)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxBotFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the bot key: %w", err)
	case len(text) > maxBotFile:
		return nil, fmt.Errorf(
			"%s is longer than %d bytes, so it is no key file: make one with: crawlnode keygen --bot FILE",
			path, maxBotFile)
	}
	keys, err := botauth.ParseKeys(bytes.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return keys, nil
}

// NewBotKeyFile makes a bot key and stores it in a new file that only its owner may read. It
// returns the key's id.
func NewBotKeyFile(path string) (id string, err error) {
	var seed [ed25519.SeedSize]byte
	_, _ = rand.Read(seed[:]) // it never fails: package crypto/rand
	k := botauth.NewKey(seed)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return "", datadir.Usage(fmt.Errorf("%s is there already and stays as it is: "+
			"give another FILE, or say --keep if it is the bot key of this crawl", path))
	case errors.Is(err, fs.ErrNotExist):
		return "", datadir.Usage(
			fmt.Errorf("store the bot key: %w: make its folder first, or give another FILE", err))
	case err != nil:
		return "", datadir.Failed("store the bot key", err)
	}
	_, err = file.Write(k.PEM())
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", datadir.Failed("store the bot key", err)
	}
	return k.ID(), nil
}
