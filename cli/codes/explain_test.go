package codes

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"crawlnode/cli/command"
	"crawlnode/crawl"
)

// TestEveryCode holds the table against the codes that the program knows, in both directions.
func TestEveryCode(t *testing.T) {
	t.Parallel()
	want := map[Kind][]string{
		Health: crawl.HealthReasons[:], Fetch: crawl.ErrCategoryNames[:], Skip: crawl.SkipReasonNames[:],
		Limit: {crawl.BottleneckPoliteness, crawl.BottleneckFetchers, crawl.BottleneckCPU, crawl.BottleneckDNS, crawl.BottleneckDisk, crawl.BottleneckHandoff,
			crawl.BottleneckNothingDue, crawl.BottleneckIndex, crawl.BottleneckRender, crawl.BottleneckNone},
	}
	for _, m := range command.ExitMeanings {
		want[Exit] = append(want[Exit], fmt.Sprint(m.Code))
	}
	for kind, codes := range want {
		var have []string
		for _, e := range entries {
			if e.Kind != kind {
				continue
			}
			have = append(have, e.Code)
			if e = e.complete(); e.Meaning == "" || e.Causes == "" || e.Do == "" {
				t.Errorf("%s %s is not explained in full", kind, e.Code)
			}
		}
		slices.Sort(have)
		sorted := slices.Sorted(slices.Values(codes))
		if !slices.Equal(have, sorted) {
			t.Errorf("%ss: explained are %v, the program has %v", kind, have, sorted)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code string
		exit int
		out  string
	}{
		{"low_disk", 0, "low_disk (health reason)"},
		{"LOW-DISK", 0, "256 MiB"},
		{"4", 0, "4 (exit code)"},
		{"robots", 0, "robots (skip reason)"},
		{"", 0, "Error categories"},
		{"disk", 0, "disk (bottleneck)"},
		{"nothing-due", 0, "nothing_due (bottleneck)"},
		{"nothing", 2, "did you mean nothing_due?"},
		{"dns", 0, "dns (error category)"},
		{"disks", 2, "did you mean disk_full?"},
		{"partitions_stukc", 2, "did you mean partitions_stuck?"},
		{"7", 2, `"7" is no code; crawlnode explain lists them all`},
	} {
		var out, errs bytes.Buffer
		code := (&Verb{Code: c.code}).Run(context.Background(), &command.Env{Stdout: &out, Stderr: &errs})
		if text := out.String() + errs.String(); code != c.exit || !strings.Contains(text, c.out) {
			t.Errorf("explain %q: exit code %d, %q; want %d and %q", c.code, code, text, c.exit, c.out)
		}
	}
}

// TestSymptoms: each code stands in one chapter of docs/troubleshooting.md, which links to it, and
// docs/codes.md links back.
func TestSymptoms(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	chapters := map[string]string{}
	for _, chapter := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(chapter, "\n")
		chapters[title] = body
	}
	places := map[string]int{}
	for _, s := range symptoms {
		for _, code := range s.codes {
			places[code]++
			if !strings.Contains(chapters[s.title], "](codes.md#"+code+")") {
				t.Errorf("docs/troubleshooting.md: %q has no link to codes.md#%s", s.title, code)
			}
		}
	}
	reference := string(Reference())
	for _, e := range entries {
		if places[e.anchor()] != 1 {
			t.Errorf("%s stands in %d chapters, want one", e.anchor(), places[e.anchor()])
		}
		if delete(places, e.anchor()); !strings.Contains(reference, `<a id="`+e.anchor()+`"></a>`) {
			t.Errorf("docs/codes.md has no anchor %s", e.anchor())
		}
	}
	for code := range places {
		t.Errorf("%s is no code", code)
	}
}
