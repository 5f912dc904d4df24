package config

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestDefaultIsValid(t *testing.T) {
	t.Parallel()
	c := Default()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if c.HTTP != "127.0.0.1:27295" || c.Partitions != 1024 || c.MaxBody != 10<<20 ||
		c.Delay != time.Second || c.IPDelay != nil {
		t.Errorf("unexpected defaults: %+v", c)
	}
}

// TestEveryFieldHasParserAndHelp keeps the struct tags complete: each setting can be parsed, has a
// help text and a unique name.
func TestEveryFieldHasParserAndHelp(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, f := range fieldsOf(&Config{}) {
		if seen[f.name] {
			t.Errorf("--%s stands twice", f.name)
		}
		seen[f.name] = true
		if f.tag.Get("help") == "" || f.tag.Get("group") == "" {
			t.Errorf("--%s has no help or no group", f.name)
		}
		if f.value.Kind() != reflect.Bool && f.tag.Get("placeholder") == "" {
			t.Errorf("--%s has no placeholder", f.name)
		}
		_ = f.set([]string{"1"}) // must not panic for lack of a parser
	}
}

// TestContractFlags checks the names that the public interface fixes.
func TestContractFlags(t *testing.T) {
	t.Parallel()
	want := strings.Fields(
		`name data-dir http gossip rpc advertise join cluster cluster-key-file insecure allow-remote-unsafe partitions
		replication quorum proof-of-death catch-up seed seeds scope include exclude exclude-file assets focus focus-min normalize priority index recrawl recrawl-interval recrawl-min recrawl-max recrawl-share recrawl-worth recrawl-changed max-depth max-pages
		max-pages-per-host max-suspicious-per-host max-duration max-body delay ip-delay fetchers user-agent robots-agent bot-key bot-agent wall-marks secrets contact robots dns allow-net store
		warc-size warc-compression dedupe-against derive log-skipped upload upload-endpoint keep-local sync tls-verify exit-when-done retries retry-statuses timeout header-timeout cookies blocked purpose preferences sites proxy drain-timeout deny-net allow-ports debug-addr memory log-level log-format otlp-endpoint trace-sample trace-match sink webhook fetch lease frontier-addr
		render render-match renderers render-timeout render-memory render-screenshot browser documents extract-with weight zone`)
	have := make(map[string]bool)
	for _, n := range Names() {
		have[n] = true
	}
	for _, n := range want {
		if !have[n] {
			t.Errorf("--%s is missing", n)
		}
		delete(have, n)
	}
	if len(have) > 0 {
		t.Errorf("flags outside the contract: %v", have)
	}
}

// TestContractDefaults checks the defaults that the public interface fixes.
func TestContractDefaults(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"http": "127.0.0.1:27295", "gossip": "127.0.0.1:27296", "rpc": "127.0.0.1:27297",
		"cluster": "default", "partitions": "1024", "replication": "2",
		"quorum": "on", "proof-of-death": "on", "catch-up": "1h", "scope": "host", "assets": "off",
		"max-body": "10MiB", "delay": "1s", "fetchers": "256", "robots": "obey",
		"store": "warc", "warc-size": "1GiB", "tls-verify": "strict", "drain-timeout": "25s",
		"memory": "1GiB", "log-level": "info", "log-format": "auto",
		"recrawl": "off", "recrawl-interval": "7d", "recrawl-min": "1h", "recrawl-max": "90d",
		"recrawl-share": "0.5", "recrawl-worth": "0.1", "recrawl-changed": "text",
		"documents": "on",
		"priority":  "importance=0.3,authority=0.25,change=0.2,depth=0.15,freshness=0.1",
		"focus-min": "0", "render": "off", "render-timeout": "30s", "render-memory": "1GiB",
		"index": "off", "fetch": "on", "lease": "5m",
		"keep-local": "all", "trace-sample": "0.001", "allow-ports": "80,443,8000-9000,seeds",
		// Not set: none, or computed at the start.
		"advertise": "", "join": "", "cluster-key-file": "", "seed": "", "seeds": "", "include": "",
		"exclude": "", "exclude-file": "", "ip-delay": "", "user-agent": "", "bot-key": "",
		"bot-agent": "", "wall-marks": "", "secrets": "",
		"contact": "", "dns": "", "allow-net": "", "focus": "", "normalize": "", "render-match": "",
		"browser": "", "frontier-addr": "", "upload": "",
		"upload-endpoint": "", "sink": "", "webhook": "", "dedupe-against": "", "otlp-endpoint": "",
		"trace-match": "", "deny-net": "", "extract-with": "", "weight": "1", "zone": "",
	}
	settings, err := Explain(Input{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range settings {
		if d, ok := want[s.Name]; ok && d != s.Default {
			t.Errorf("--%s: the default is %q, want %q", s.Name, s.Default, d)
		}
		delete(want, s.Name)
	}
	if len(want) > 0 {
		t.Errorf("there are no %v", want)
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestParseNet: the error for an invalid network suggests a valid one.
func TestParseNet(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"10.0.0.0/8": "", "fd00::/8": "",
		"10.0.0.0": "write 10.0.0.0/32 for this address alone, or fewer bits for a network, " +
			"as 10.0.0.0/8",
		"::1":             "write ::1/128",
		"10.0.0.0/33":     "write 10.0.0.0/0 to 10.0.0.0/32",
		"10.0/8":          "write an address with a prefix length, as 10.0.0.0/8",
		"inside":          "is not a network",
		"fe80::1%eth0/64": "is not a network",
	} {
		n, err := ParseNet(text)
		if says == "" && (err != nil || n.String() != text) ||
			says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v, %v", text, n, err)
		}
	}
}

func TestLayers(t *testing.T) {
	t.Parallel()
	file := write(t, "node.yaml",
		"# a comment\ndelay: 3s\nquorum: off\nfetchers: 7\njoin: [a:1, b:2]\ninclude: 'regex:x{1,3}'\n"+
			"allow-net: 10.0.0.0/8, 127.0.0.0/8\nmax-body: 2MiB\nexit-when-done: yes\nip-delay: 0s\n")
	env := map[string]string{
		"CRAWLNODE_FETCHERS": "8",
		"CRAWLNODE_DATA_DIR": "/data",
		"CRAWLNODE_EXCLUDE":  "glob:*a,b*\nhost:x",
	}
	flags := Config{}
	flags.Delay, flags.Fetchers = 5*time.Second, 99
	c, err := Load(Input{
		File: file, Flags: flags, Given: map[string]bool{"delay": true},
		Env: func(k string) (string, bool) { v, ok := env[k]; return v, ok },
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Delay != 5*time.Second {
		t.Errorf("flag does not win: delay %v", c.Delay)
	}
	if c.Fetchers != 8 {
		t.Errorf("environment does not win over the file: fetchers %d", c.Fetchers)
	}
	if c.Quorum != "off" || len(c.Join) != 2 || len(c.AllowNet) != 2 || c.MaxBody != 2<<20 ||
		!c.ExitWhenDone || c.DataDir != "/data" {
		t.Errorf("file or environment not taken over: %+v", c)
	}
	if c.IPDelay == nil || *c.IPDelay != 0 {
		t.Errorf("ip-delay = %v, want 0 given explicitly", c.IPDelay)
	}
	if len(c.Include) != 1 || c.Include[0] != "regex:x{1,3}" || len(c.Exclude) != 2 {
		t.Errorf("patterns were cut at commas: %q %q", c.Include, c.Exclude)
	}
}

// TestDeriveNone clears the outputs that a file names; beside others it is a mistake.
func TestDeriveNone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("derive: [pages]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := Input{
		File:  file,
		Given: map[string]bool{"derive": true},
		Flags: Config{Groups: Groups{Output: Output{Derive: []string{"none"}}}},
	}
	if c, err := Load(in); err != nil || len(c.Derive) > 0 {
		t.Errorf("derive %v, %v", c.Derive, err)
	}
	in.Flags.Derive = []string{"none", "links"}
	if _, err := Load(in); err == nil || !strings.Contains(err.Error(), `--derive: "none" is not`) {
		t.Errorf("none and links: %v", err)
	}
}

func TestLoadReportsEverything(t *testing.T) {
	t.Parallel()
	file := write(t, "node.yaml",
		"dealy: 3s\nfetchers: many\nname: a\nname: b\nstore: {a: b}\nlog-level:\nzzzzzzzzzz: 1\n")
	env := map[string]string{"CRAWLNODE_MEMORY": "lots", "CRAWLNODE_SCOPE": "hots"}
	flags := Config{}
	flags.ExcludeFiles = []string{filepath.Join(t.TempDir(), "absent")}
	_, err := Load(Input{
		File: file, Flags: flags, Given: map[string]bool{"exclude-file": true},
		Env: func(k string) (string, bool) { v, ok := env[k]; return v, ok },
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		`line 1: unknown key "dealy"; did you mean "delay"?`,
		`line 2: fetchers: "many" is not a whole number`,
		`line 4: "name" is already on line 3`, "line 5: store: takes one plain value",
		"line 6: log-level: has no value",
		`line 7: unknown key "zzzzzzzzzz"; the keys are`,
		`CRAWLNODE_MEMORY (for --memory): "lots" is not a size`,
		`--scope: "hots" is not page, prefix, host, domain or any; did you mean "host"?`,
		"--exclude-file: open ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not reported: %s\nin:\n%v", want, err)
		}
	}
}

func TestExcludeFile(t *testing.T) {
	t.Parallel()
	flags := Config{}
	flags.Exclude = []string{"host:a"}
	flags.ExcludeFiles = []string{write(t, "x", "# no\n\n prefix:http://b/ \r\nglob:*c*")}
	c, err := Load(Input{Flags: flags, Given: map[string]bool{"exclude-file": true, "exclude": true}})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Exclude, " "); got != "host:a prefix:http://b/ glob:*c*" {
		t.Errorf("exclude = %q", got)
	}
}

func TestOddFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                     "",
		"# nothing\n":          "",
		"- a\n- b\n":           "must be a list of `name: value` lines",
		"name: a\n---\nx: 1\n": "more than one YAML document",
		"name: [":              "is not YAML",
		"join: {a: 1}":         "takes a value or a list of values",
		"join: [[a]]":          "plain values only",
	} {
		c := Default()
		_, problems := c.applyYAML([]byte(text))
		switch {
		case want == "" && len(problems) > 0:
			t.Errorf("%q: %v", text, problems)
		case want != "" && (len(problems) == 0 || !strings.Contains(problems[0].Error(), want)):
			t.Errorf("%q: %v, want %q", text, problems, want)
		}
	}
	if _, err := Load(Input{File: filepath.Join(t.TempDir(), "absent.yaml")}); err == nil ||
		!strings.Contains(err.Error(), "--config") {
		t.Errorf("absent file: %v", err)
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Size{
		"0": 0, "17": 17, "17B": 17, "1KiB": 1024, "1.5 GiB": 3 << 29, "2mb": 2e6, "10MiB": 10 << 20,
		"3TiB": 3 << 40, "1k": 1024, "10 M": 10 << 20, "1g": 1 << 30,
	} {
		var s Size
		if err := s.UnmarshalText([]byte(in)); err != nil || s != want {
			t.Errorf("%q = %d, %v; want %d", in, s, err, want)
		}
		var back Size
		if err := back.UnmarshalText([]byte(s.String())); err != nil || back != s {
			t.Errorf("%v does not read back: %d, %v", s, back, err)
		}
	}
	for _, in := range []string{"", "MiB", "-1", "1e9", "0x10", "NaN", "1 GiBB", "99999999TiB",
		"1.2.3"} {
		var s Size
		if err := s.UnmarshalText([]byte(in)); err == nil {
			t.Errorf("%q accepted as %d", in, s)
		}
	}
}

func FuzzSize(f *testing.F) {
	for _, s := range []string{"1GiB", "0", "1.5KB", "inf", "9223372036854775807"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var s, back Size
		if s.UnmarshalText([]byte(in)) != nil {
			return
		}
		if s < 0 {
			t.Fatalf("%q = %d", in, s)
		}
		if err := back.UnmarshalText([]byte(s.String())); err != nil ||
			math.Abs(float64(back-s)) > float64(s)/1e9 {
			t.Fatalf("%q = %d reads back as %d, %v", in, s, back, err)
		}
	})
}

func FuzzYAML(f *testing.F) {
	f.Add([]byte("delay: 3s\njoin: [a:1, b:2]\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("? [x]\n: y\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := Default()
		_, _ = c.applyYAML(text)
		_ = c.Validate()
	})
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"fetcher":    "fetchers",
		"max_pages":  "max-pages",
		"DELAY":      "delay",
		"qwertyuiop": "",
	} {
		if got := Suggest(in, Names()); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestDurationSpellings reads the spellings that people use.
func TestDurationSpellings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "1h30m": 90 * time.Minute, "5 min": 5 * time.Minute,
		"5min": 5 * time.Minute, " 90 Seconds ": 90 * time.Second, "1d": 24 * time.Hour,
		"1.5 days": 36 * time.Hour, "2w": 14 * 24 * time.Hour, "0.5s": 500 * time.Millisecond,
		"30 S": 30 * time.Second, "0": 0, "-1s": -time.Second, "1hr": time.Hour,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "5", "d", "soon", "1m30", "1 year", "1,5h", "--1s",
		"999999999999d"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
