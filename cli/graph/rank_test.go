package graph

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"crawlnode/cli/command"
)

// ranked runs the verb over a list of links, given as "source target" pairs.
func ranked(t *testing.T, v RankVerb, pairs ...string) (code int, out, errout string) {
	t.Helper()
	var text strings.Builder
	for _, pair := range pairs {
		source, target, _ := strings.Cut(pair, " ")
		fmt.Fprintf(&text, `{"source":"http://%s","target":"http://%s","tag":"a"}`+"\n", source, target)
	}
	path := filepath.Join(t.TempDir(), "links.jsonl")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	v.Files, v.TempDir = []string{path}, t.TempDir()
	if v.Damping == 0 {
		v.Damping, v.Tolerance, v.MaxIterations = 0.85, 1e-12, 500
	}
	var stdout, stderr bytes.Buffer
	code = v.Run(t.Context(),
		&command.Env{Stdin: strings.NewReader(text.String()), Stdout: &stdout, Stderr: &stderr})
	if left, err := os.ReadDir(v.TempDir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	return code, stdout.String(), stderr.String()
}

// The star: three pages link to one, which links to the first.
var star = []string{"a/ c/", "b.test/ c/", "d/1 c/", "c/ a/"}

// inStar are the ranks in the star for damping 0.85, solved by hand: b and d have only the base
// x = 0.0375, c = x + 0.85(a + 2x), a = x + 0.85c.
func inStar() (a, c, x float64) {
	x = 0.0375
	c = (x + 0.85*(x+2*x)) / (1 - 0.85*0.85)
	return x + 0.85*c, c, x
}

func TestRank(t *testing.T) {
	t.Parallel()
	a, c, x := inStar()
	code, out, errout := ranked(t, RankVerb{By: "page", Output: "csv"}, star...)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if code != command.ExitOK || err != nil || errout != "" || len(rows) != 5 {
		t.Fatalf("code %d, %v, %q\n%s", code, err, errout, out)
	}
	want := [][]string{{"http://c/", "3", "1", "1"}, {"http://a/", "1", "1", "0.6666666666666666"},
		{"http://b.test/", "0", "1", "0"}, {"http://d/1", "0", "1", "0"}}
	for i, rank := range []float64{c, a, x, x} {
		r := rows[i+1]
		got, err := strconv.ParseFloat(r[1], 64)
		if err != nil || math.Abs(got-rank) > 1e-9 || r[0] != strconv.Itoa(i+1) {
			t.Errorf("row %d: %q, want rank %v", i, r, rank)
		}
		if w := want[i]; r[5] != w[0] || r[3] != w[1] || r[4] != w[2] || r[2] != w[3] {
			t.Errorf("row %d: %q, want %q", i, r, w)
		}
	}
	code, out, _ = ranked(t, RankVerb{By: "page", Output: "text", Top: 3}, star...)
	if lines := strings.Split(strings.TrimSpace(out), "\n"); code != command.ExitOK ||
		len(lines) != 5 || !strings.HasPrefix(out, "4 pages, 4 links, 0 without links") ||
		!strings.Contains(lines[4], "0.0375") || strings.Fields(lines[4])[2] != "0.00000" {
		t.Errorf("code %d\n%s", code, out)
	}
}

func TestRankOfHostsAsJSON(t *testing.T) {
	t.Parallel()
	code, out, _ := ranked(t, RankVerb{By: "host", Output: "json"}, "a.test/1 b.test/",
		"a.test/2 b.test/", "a.test/ a.test/1", "c.test:81/ b.test/x")
	var got struct {
		By                     string
		Nodes, Links, Dangling int
		Converged              bool
		Ranks                  []struct {
			Position int
			Host     string
			PageRank float64
			Rank     float64
			LinksIn  int `json:"links_in"`
		}
	}
	if err := json.Unmarshal([]byte(out), &got); code != command.ExitOK || err != nil {
		t.Fatalf("code %d, %v\n%s", code, err, out)
	}
	if got.By != "host" || got.Nodes != 3 || got.Links != 2 || got.Dangling != 1 || !got.Converged ||
		got.Ranks[0].Host != "b.test" || got.Ranks[0].LinksIn != 2 || got.Ranks[2].Rank != 0 {
		t.Errorf("%+v\n%s", got, out)
	}
}

func TestRankRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		v     RankVerb
		pairs []string
		code  int
		says  string
	}{
		{"no links", RankVerb{}, nil, command.ExitUsage, "no links: the files are empty"},
		{"damping", RankVerb{Damping: 1.5, Tolerance: 1, MaxIterations: 1}, star, command.ExitUsage, "damping 1.5"},
		{"top", RankVerb{Top: -1}, star, command.ExitUsage, "--top: -1"},
		{"few iterations", RankVerb{Damping: 0.85, MaxIterations: 2}, star, command.ExitOK, "after 2 iterations; --max-iterations"},
	} {
		if code, _, errout := ranked(t, c.v, c.pairs...); code != c.code ||
			!strings.Contains(errout, c.says) {
			t.Errorf("%s: code %d, %q, want %d and %q", c.name, code, errout, c.code, c.says)
		}
	}
	var stderr bytes.Buffer
	env := &command.Env{Stdin: strings.NewReader("{}"), Stdout: &stderr, Stderr: &stderr}
	v := RankVerb{
		Files:         []string{"/nowhere/links"},
		Damping:       0.85,
		MaxIterations: 1,
		TempDir:       t.TempDir(),
	}
	if code := v.Run(t.Context(), env); code != command.ExitUsage ||
		!strings.Contains(stderr.String(), "/nowhere/links: no such file") {
		t.Errorf("a missing file: code %d, %q", code, stderr.String())
	}
	v.Files = []string{"-"}
	if code := v.Run(t.Context(), env); code != command.ExitUsage ||
		!strings.Contains(stderr.String(), "standard input:1: no line of a list") {
		t.Errorf("standard input: code %d, %q", code, stderr.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code := v.Run(ctx, env); code != command.ExitInterrupted {
		t.Errorf("interrupted: code %d", code)
	}
}
