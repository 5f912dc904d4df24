package node

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// TestSecretsOfANode: a node reads its secrets when it is opened, and again when it is told to;
// what is wrong with the file is an error of usage that names the line, and changes nothing later.
func TestSecretsOfANode(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secrets")
	put := func(text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
	c := testConfig(t, "one")
	c.Secrets = file
	for _, bad := range []struct {
		text string
		mode os.FileMode
		want string
	}{
		{"a=1\nhunter2\n", 0o600, "--secrets: " + file + ": line 2: "},
		{"a=1\n", 0o644, "chmod 600 " + file},
	} {
		put(bad.text, bad.mode)
		_, err := Open(Options{Config: c, Version: "test"})
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), bad.want) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v, want an error of usage with %q", err, bad.want)
		}
	}
	put("a=1\n", 0o600)
	n, err := Open(Options{Config: c, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer n.http.Close()
	defer n.close()
	for _, step := range []struct{ text, want string }{{"a=1\n", "1"}, {"a=2\n", "2"},
		{"hunter2\n", "2"}, {"a=3\n", "3"}} {
		put(step.text, 0o600)
		n.ReloadSecrets(file)
		if v, ok := n.secrets.Lookup("a"); !ok || v.Reveal() != step.want {
			t.Errorf("after %q it is %q, want %q", step.text, v.Reveal(), step.want)
		}
	}
	n.means.Lacks("a.test", "secret:b")
	n.means.Lacks("b.test", "secret:b")
	n.means.Lacks("b.test", "secret:b")
	n.means.Lacks("b.test", "192.0.2.9")
	if all := n.troubles(); len(all.Secrets) != 1 || all.Secrets[0].Hosts != 2 ||
		len(all.Sources) != 1 {
		t.Errorf("what is missing: %+v", all)
	}
	says := func(r crawl.HealthReason) bool {
		return r.Code == crawl.ReasonSecretMissing &&
			strings.Contains(r.Message, "one lacks the secret b,")
	}
	if rs := n.report.HealthReasons(); !slices.ContainsFunc(rs, says) {
		t.Errorf("a secret that a rule names is missing, and health says %+v", rs)
	}
	n.ReloadSecrets("")
	if names := n.secrets.Names(); len(names) > 0 {
		t.Errorf("without a file there are %q", names)
	}
}
