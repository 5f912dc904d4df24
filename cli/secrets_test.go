package cli

import (
	"os"
	"path/filepath"
	"testing"

	"crawlnode/cli/command"
)

// TestBadSecrets: a node does not start with a file of --secrets that is wrong, names its line, and
// makes nothing.
func TestBadSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made := filepath.Join(dir, "data")
	file := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]string{
		file("line", "a=1\n\nhunter2\n",
			0o600): "--secrets: " + filepath.Join(dir, "line") + ": line 3: ",
		file("open", "a=1\n", 0o644): "chmod 600 " + filepath.Join(dir, "open"),
		filepath.Join(dir, "none"):   "no such file or directory: make it",
		dir:                          "it is a folder",
	} {
		run(t, "", "start", "--data-dir", made, "--secrets", path).want(t, command.ExitUsage, "", want)
		if _, err := os.Lstat(made); err == nil {
			t.Errorf("%s: something was made all the same", path)
		}
	}
}
