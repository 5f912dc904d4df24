package keyfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"crawlnode/local/datadir"
	"crawlnode/web/botauth"
)

func TestBotKeyFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bot.pem")
	id, err := NewBotKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := LoadBotKeys(path)
	if err != nil || len(keys) != 1 || keys[0].ID() != id {
		t.Fatalf("%v, %v, want the key %s", keys, err, id)
	}
	if info, err := os.Stat(path); err != nil ||
		runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want mode 0600", info.Mode(), err)
	}
	if _, err := NewBotKeyFile(path); !errors.Is(err, datadir.ErrUsage) ||
		!strings.Contains(err.Error(), "there already") {
		t.Errorf("made again: %v", err)
	}
	if again, err := LoadBotKeys(path); err != nil || again[0].ID() != id {
		t.Errorf("the key was replaced: %v, %v", again, err)
	}
}

func TestBotKeyFileErrors(t *testing.T) {
	t.Parallel()
	if keys, err := LoadBotKeys(""); keys != nil || err != nil {
		t.Errorf("without a file: %v, %v", keys, err)
	}
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
		return path
	}
	key := string(botauth.NewKey([32]byte{1}).PEM())
	for _, tc := range []struct{ path, bad string }{
		{filepath.Join(dir, "none"), "keygen --bot"},
		{dir, "not a file"},
		{file("open", key, 0o644), "chmod 600"},
		{file("empty", "", 0o600), "no private key"},
		{file("long", key+strings.Repeat("#\n", maxBotFile), 0o600), "longer"},
	} {
		_, err := LoadBotKeys(tc.path)
		if !errors.Is(err, datadir.ErrUsage) || !strings.Contains(err.Error(), tc.bad) ||
			!strings.HasPrefix(err.Error(), "--bot-key: ") {
			t.Errorf("%s: %v, want a mistake with %q", tc.path, err, tc.bad)
		}
	}
	if _, err := NewBotKeyFile(filepath.Join(dir, "none", "bot.pem")); !errors.Is(err,
		datadir.ErrUsage) {
		t.Errorf("in no folder: %v", err)
	}
}
