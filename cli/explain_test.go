package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/cli/command"
	"crawlnode/crawl"
)

func (fakeNode) ExplainURL(_ context.Context, u string, depth int) (*crawl.URLReport, error) {
	return &crawl.URLReport{
		Input:   u,
		URL:     &u,
		Summary: "it waits\x1b",
		Scope:   crawl.ScopeReport{Admit: true, Rule: "the cluster's rule", Depth: depth},
	}, nil
}

func (fakeNode) DescribeHost(_ context.Context, host string) (*crawl.HostReport, error) {
	if host != "a.test" {
		return nil, fmt.Errorf("%w: no URL of %s was ever admitted", crawl.ErrUnknownHost, host)
	}
	return &crawl.HostReport{Host: "a.test", State: crawl.HostIdle, Summary: "nothing is queued"}, nil
}

func TestExplain(t *testing.T) {
	t.Parallel()
	addr := fakeAddr(t)
	for _, tc := range []struct {
		args        string
		code        int
		out, errout string
	}{
		{"urls why http://a.test/", command.ExitOK, `summary     it waits\x1b`, ""},
		{"urls why http://a.test/ -o json", command.ExitOK, `"url": "http://a.test/"`, ""},
		{"hosts show a.test", command.ExitOK, "idle: nothing is queued", ""},
		{"hosts show a.test -o json", command.ExitOK, `"by_band": [`, ""},
		{"hosts show b.test", command.ExitUsage, "", "unknown host: no URL of b.test"},
		{"scope test http://a.test/", command.ExitOK, "admitted: the cluster's rule (at depth -1)", ""},
		{"scope test http://a.test/ --depth 4 -o json", command.ExitOK, `"depth": 4`, ""},
	} {
		run(t, "", append(strings.Fields(tc.args), "--addr", addr)...).want(t, tc.code, tc.out, tc.errout)
	}
	for _, verb := range []string{"urls why http://a.test/", "hosts show a.test",
		"scope test http://a.test/"} {
		run(t, "", append(strings.Fields(verb), "--addr", "127.0.0.1:1")...).want(t, command.ExitError,
			"", "nobody answers at 127.0.0.1:1")
		help := run(t, "", append(strings.Fields(verb)[:2], "--help")...)
		if help.want(t, command.ExitOK, "Examples:", ""); strings.Count(help.out,
			"    crawlnode "+strings.Join(strings.Fields(verb)[:2], " ")) != 2 {
			t.Errorf("%s --help has no two examples:\n%s", verb, help.out)
		}
	}
	run(t, "", "scope", "test", "http://a.test/", "--addr", "127.0.0.1:1").want(t, command.ExitError,
		"", "--seed")
}

// TestScopeByFlags judges without any node.
func TestScopeByFlags(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "excludes")
	if err := os.WriteFile(file, []byte("# no archives\n*.zip\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(t.TempDir(), "crawl.yaml")
	if err := os.WriteFile(settings, []byte("scope: any\nmax-depth: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const url = "HTTP://A.test:80/docs/../x.zip"
	for _, tc := range []struct {
		args        []string
		code        int
		out, errout string
	}{
		{[]string{"--seed", "http://a.test/"}, command.ExitOK, "admitted: scope host: on a seed's host (at depth 1)", ""},
		{[]string{"--seed", "http://a.test/x.zip"}, command.ExitOK, "(at depth 0)", ""},
		{[]string{"--seed", "http://b.test/"}, command.ExitOK, "refused, out_of_scope: scope host: not on a seed's host", ""},
		{[]string{"--seed", "http://a.test/docs/", "--scope", "prefix"}, command.ExitOK, "scope prefix: not in a seed's folder", ""},
		{[]string{"--scope", "any", "--exclude", "*.zip"}, command.ExitOK, "refused, out_of_scope: exclude *.zip", ""},
		{[]string{"--scope", "any", "--exclude-file", file}, command.ExitOK, "exclude *.zip", ""},
		{[]string{"--scope", "any", "--include", "/docs/*"}, command.ExitOK, "no include pattern matches", ""},
		// exclude wins
		{[]string{"--scope", "any", "--include", "/x*", "--exclude", "prefix:/x"}, command.ExitOK, "exclude prefix:/x", ""},
		{[]string{"--scope", "any", "--max-depth", "3", "--depth", "4"}, command.ExitOK, "refused, depth: deeper than 3 links", ""},
		{[]string{"--config", settings, "--depth", "3"}, command.ExitOK, "refused, depth: deeper than 2 links", ""},
		{[]string{"--scope", "any", "-o", "json"}, command.ExitOK, `"url": "http://a.test/x.zip"`, ""},
		{[]string{"--exclude", "*.zip"}, command.ExitUsage, "", "--seed"},
		{[]string{"--scope", "any", "--exclude", "regex:("}, command.ExitUsage, "", "regex:("},
		{[]string{"--seed", "ftp://a.test/"}, command.ExitUsage, "", "ftp://a.test/"},
		{[]string{"--scope", "galaxy"}, command.ExitUsage, "", "galaxy"},
	} {
		run(t, "", append([]string{"scope", "test", url}, tc.args...)...).want(t, tc.code, tc.out,
			tc.errout)
	}
	run(t, "", "scope", "test", "mailto:x", "--scope", "any").want(t, command.ExitOK,
		"refused, scheme: not an http or https URL", "")
}
