package config

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestWriteYAMLReadsBack prints odd settings and loads what was printed.
func TestWriteYAMLReadsBack(t *testing.T) {
	t.Parallel()
	file := write(t, "node.yaml", "delay: 90m\nmax-duration: 2h\nip-delay: 0s\nlog-skipped: 0.25\n"+
		"name: \"null\"\nuser-agent: 'a: b # c \"d\" \\'\n"+
		"include: ['regex:x{1,3}', '- [', '*']\nallow-net: 10.0.0.0/8, fc00::/7\nmax-body: 1536B\n"+
		"sync: yes\ncontact: me@example.org\nquorum: off\njoin: a:1, b:2\n")
	want, err := Load(Input{File: file})
	if err != nil {
		t.Fatal(err)
	}
	for _, origin := range []bool{false, true} {
		settings, err := Explain(Input{File: file})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := WriteYAML(&b, settings, origin); err != nil {
			t.Fatal(err)
		}
		have, err := Load(Input{File: write(t, "again.yaml", b.String())})
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		if names := Differences(&want, &have); len(names) > 0 {
			t.Errorf("%v differ after\n%s", names, b.String())
		}
	}
}

// TestExplain checks the strongest origin of each setting, also of invalid ones.
func TestExplain(t *testing.T) {
	t.Parallel()
	file := write(t, "node.yaml", "delay: 2s\nfetchers: 7\nmemory: 2GiB\nzzz: 1\n")
	env := map[string]string{
		"CRAWLNODE_FETCHERS": "8",
		"CRAWLNODE_DELAY":    "3s",
		"CRAWLNODE_MAX_BODY": "lots",
	}
	flags := Config{}
	flags.Delay = 5 * time.Second
	settings, err := Explain(Input{File: file, Flags: flags, Given: map[string]bool{"delay": true},
		Env: func(k string) (string, bool) { v, ok := env[k]; return v, ok }})
	if err == nil {
		t.Error("accepted what is wrong")
	}
	for name, want := range map[string][3]string{
		"delay": {"5s", OriginFlag, "--delay"}, "fetchers": {"8", OriginEnvironment,
			"CRAWLNODE_FETCHERS"},
		"memory": {"2GiB", OriginFile, file + ":3"}, "scope": {"host", OriginDefault, ""},
		"max-body": {"10MiB", OriginDefault, ""},
	} {
		i := slices.IndexFunc(settings, func(s Setting) bool { return s.Name == name })
		s := settings[i]
		if have := [3]string{s.Values[0], s.Origin, s.Place}; have != want {
			t.Errorf("%s: %q, want %q", name, have, want)
		}
	}
}

// TestEverySettingSaysWhenItCounts keeps the references complete.
func TestEverySettingSaysWhenItCounts(t *testing.T) {
	t.Parallel()
	settings, err := Explain(Input{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range settings {
		if !slices.Contains([]string{"start", "SIGHUP", "cluster", "founding"}, s.Live) || s.Kind == "" {
			t.Errorf("--%s: counts %q, kind %q", s.Name, s.Live, s.Kind)
		}
	}
	// The settings that belong to the cluster are those that Settings returns.
	a, b := Default(), Default()
	b.Delay, b.Fetchers = time.Minute, 3
	if got := Differences(&a, &b); !reflect.DeepEqual(got, []string{"fetchers", "delay"}) {
		t.Errorf("differences: %v", got)
	}
}
