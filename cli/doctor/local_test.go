package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/config"
	"crawlnode/node/preflight"
)

// TestCheckFiles wants more files than any machine allows.
func TestCheckFiles(t *testing.T) {
	t.Parallel()
	var d Diagnosis
	d.checkFiles(1 << 50)
	if f := d.Findings[0]; f.Level != LevelFail ||
		!strings.Contains(f.Do, "ulimit -n 2251799813685760") {
		t.Errorf("found %+v", f)
	}
}

// TestJudgeSpace holds that doctor fails where a start would be refused, or would fetch nothing,
// and nowhere else.
func TestJudgeSpace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		free  int64
		begun bool
		level string
	}{
		{preflight.LowDiskBytes - 1, true, LevelFail}, {preflight.LowDiskBytes, true, LevelWarn},
		{preflight.LowDiskBytes, false, LevelFail}, {preflight.NewNodeBytes - 1, false, LevelFail}, {preflight.NewNodeBytes, false, LevelWarn},
		{littleSpace, false, LevelOK}, {littleSpace, true, LevelOK},
	} {
		var d Diagnosis
		d.judgeSpace("/data", c.free, c.begun)
		if f := d.Findings[0]; f.Level != c.level {
			t.Errorf("%d bytes, with data: %v: %+v, want %s", c.free, c.begun, f, c.level)
		}
	}
}

// TestCheckOtherVolumes holds that the archive's own volume is judged by itself.
func TestCheckOtherVolumes(t *testing.T) {
	t.Parallel()
	dir, nowhere := t.TempDir(), filepath.Join(t.TempDir(), "nothing")
	for _, c := range []struct {
		path  string
		free  int64
		err   error
		level string
	}{
		{dir, preflight.LowDiskBytes - 1, nil, LevelFail}, {dir, preflight.LowDiskBytes, nil, LevelWarn}, {dir, littleSpace, nil, LevelOK},
		{nowhere, littleSpace, nil, LevelFail}, {dir, 0, errors.New("input/output error"), LevelFail},
	} {
		var d Diagnosis
		d.checkOtherVolumes([]string{c.path}, func(string) (int64, error) { return c.free, c.err })
		if f := d.Findings[0]; f.Level != c.level || f.What != "free space for "+filepath.Base(c.path) ||
			!strings.Contains(f.Found+f.Do, c.path) {
			t.Errorf("%+v: %+v, want %s", c, f, c.level)
		}
	}
}

// TestCheckSecrets holds that a secret that rules for sites name and the file lacks is told, and no
// value of the file.
func TestCheckSecrets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(path, []byte("login=user:pass\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := os.WriteFile(open, []byte("login=user:pass\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	signed := filepath.Join(t.TempDir(), "signed")
	if err := os.WriteFile(signed, []byte("webhook=pass\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const rules = "- {match: 'host:a.test', auth: {basic: 'secret:%s'}}"
	for _, c := range []struct{ file, rules, level, found string }{
		{"", "", "", ""},
		{path, "", LevelOK, "1 in "},
		{path, fmt.Sprintf(rules, "login"), LevelOK, "1 in "},
		{path, fmt.Sprintf(rules, "other"), LevelWarn, "other"},
		{"", fmt.Sprintf(rules, "login"), LevelWarn, "login"},
		{open, "", LevelFail, "600"},
		{path + "x", "", LevelFail, "no such file"},
		{"", "webhook", LevelWarn, "without a signature"},
		{path, "webhook", LevelFail, "no secret named webhook"},
		{signed, "webhook", LevelOK, "1 in "},
	} {
		cfg := config.Default()
		cfg.Secrets, cfg.Sites.Text = c.file, c.rules
		if c.rules == "webhook" {
			cfg.Sites.Text, cfg.Webhooks = "", []string{"https://hooks.example.org/"}
		}
		var d Diagnosis
		d.checkSecrets(&cfg)
		if c.level == "" && len(d.Findings) == 0 {
			continue
		}
		f := d.Findings[0]
		if f.Level != c.level || !strings.Contains(f.Found+f.Do, c.found) ||
			strings.Contains(f.Found+f.Do, "pass") {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}

// TestCheckDedupe: an index of --dedupe-against is looked into.
func TestCheckDedupe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ file, level, found string }{
		{write("good", "k 20260101000000 {\"url\":\"http://a.test/\"}\n"), LevelOK, "http://a.test/"},
		{write("empty", ""), LevelWarn, "no capture"},
		{write("bad", "nonsense\n"), LevelFail, "line 1: it has 1 of the 6 fields"},
		{dir, LevelFail, "is a directory"},
		{filepath.Join(dir, "none"), LevelFail, "no such file"},
	} {
		cfg := config.Default()
		cfg.DedupeAgainst = []string{c.file}
		var d Diagnosis
		d.checkDedupe(&cfg)
		if f := d.Findings[0]; len(d.Findings) != 1 || f.Level != c.level ||
			!strings.Contains(f.Found, c.found) || f.What != "index "+c.file {
			t.Errorf("%+v: %+v", c, d.Findings)
		}
	}
}
