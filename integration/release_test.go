package integration

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// releaseFiles are what each archive must hold, below its folder.
var releaseFiles = []string{"crawlnode", "LICENSE", "THIRD_PARTY_LICENSES", "README.md",
	"CHANGELOG.md", "man/crawlnode.1",
	"completions/crawlnode.bash", "completions/_crawlnode", "completions/crawlnode.fish",
	"docs/getting-started.md", "deploy/systemd/crawlnode.service", "examples/three-nodes.sh",
	"clients/python/pyproject.toml", "clients/python/crawlnode/py.typed",
	"clients/python/crawlnode/model.py", "clients/python/_build/pure.py"}

// TestRelease builds the archive for this system twice: the bytes are the same, the checksum is
// right, the files are there, and their version and commit are right.
func TestRelease(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	target := runtime.GOOS + "/" + runtime.GOARCH
	name := fmt.Sprintf("crawlnode-v0.0.0-test-%s-%s", runtime.GOOS, runtime.GOARCH)
	first, second := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "elsewhere", "b")
	for _, dir := range []string{first, second} {
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		tool(t, "", "env", pgo(), "../.ci/release", "v0.0.0-test", dir, target)
	}
	sums, err := os.ReadFile(filepath.Join(first, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(filepath.Join(second, "SHA256SUMS")); err != nil ||
		!bytes.Equal(again, sums) {
		t.Errorf("two builds of one tree differ: %v\n%s%s", err, sums, again)
	}
	tool(t, "", "sh", "-c", "cd '"+first+"' && sha256sum --check --strict SHA256SUMS")

	tool(t, "", "tar", "-C", first, "-xzf", filepath.Join(first, name+".tar.gz"))
	root := filepath.Join(first, name)
	for _, file := range releaseFiles {
		// PEP 561: it is there
		if info, err := os.Stat(filepath.Join(root, file)); err != nil ||
			info.Size() == 0 && filepath.Base(file) != "py.typed" {
			t.Errorf("%s: %v", file, err)
		}
	}
	if out := tool(t, "", filepath.Join(root, "crawlnode"), "version"); !strings.HasPrefix(out,
		"crawlnode v0.0.0-test ") {
		t.Error(out)
	}
	if out := tool(t, "", "mandoc", "-T", "lint", "-W", "warning",
		filepath.Join(root, "man/crawlnode.1")); out != "" {
		t.Errorf("the manual page: %s", out)
	}
	tool(t, "", "bash", "-n", filepath.Join(root, "completions/crawlnode.bash"))
	tool(t, "", "zsh", "-n", filepath.Join(root, "completions/_crawlnode"))
	tool(t, "", "fish", "--no-execute", filepath.Join(root, "completions/crawlnode.fish"))
	installs(t, filepath.Join(root, "crawlnode"))
}

// installs checks that make install's script puts every file where man and the shells look.
func installs(t *testing.T, program string) {
	t.Helper()
	to := t.TempDir()
	tool(t, "", "../.ci/install", program, to)
	var found []string
	out, err := exec.Command("sh", "-c", "cd '"+to+"' && find . -type f -size +0").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		found = append(found, strings.TrimSpace(strings.TrimPrefix(line, "./")))
	}
	slices.Sort(found)
	want := []string{"bin/crawlnode", "share/bash-completion/completions/crawlnode",
		"share/fish/vendor_completions.d/crawlnode.fish",
		"share/man/man1/crawlnode.1", "share/zsh/site-functions/_crawlnode"}
	if !slices.Equal(found, want) {
		t.Errorf("installed: %q", found)
	}
}
