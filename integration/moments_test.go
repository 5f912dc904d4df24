package integration

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/api/plaintext"
	"crawlnode/crawl"
	nodestatus "crawlnode/status"
)

// recorded is a Picture that a node of a real crawl has had, as testdata/moments keeps it: what
// is zero is left out. The webs were synthetic, the machine had two processors and was busy with
// other things.
type recorded struct {
	name    string
	picture nodestatus.Picture
}

// readMoments reads them in the order in which they happened.
func readMoments(t *testing.T) (ms []recorded) {
	t.Helper()
	files, err := filepath.Glob("testdata/moments/*.json")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d moments: %v", len(files), err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m := recorded{name: strings.TrimSuffix(filepath.Base(path), ".json")}
		var run struct {
			Doc struct {
				For time.Duration `json:"run_for"`
			}
		}
		if err := cmp.Or(json.Unmarshal(text, &m.picture), json.Unmarshal(text, &run)); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if m.picture.Doc.RunSince != nil { // nodes tell each other for how long, as clocks differ
			m.picture.Doc.RunSince = new(m.picture.Now.Add(-run.Doc.For))
		}
		ms = append(ms, m)
	}
	slices.SortStableFunc(ms, func(a, b recorded) int { return a.picture.Now.Compare(b.picture.Now) })
	return ms
}

// momentSentences are what a person reads of each moment in the short status, and must read; "!"
// begins what must not stand there.
var momentSentences = map[string][]string{
	"01-idle": {"crawl idle: no seed has been added yet",
		"bottleneck none: nothing is queued: more seeds"},
	"02-just-seeded": {
		"bottleneck politeness: 8 hosts with queued URLs wait for their delay, 0 are in flight"},
	"03-second-one": {"bottleneck politeness: 8 hosts", "queue 16 queued, 0 in flight"},
	"04-all-hosts-wait": {"health ok", "bottleneck politeness: 8 hosts with queued URLs wait",
		"queue 632 queued, 0 in flight", "40; 6.4/s now"},
	"05-busy-machine":    {"bottleneck politeness: 8 hosts", "! processors"},
	"06-paused-just-now": {"crawl paused: the crawl was paused", "! bottleneck"},
	"07-paused":          {"crawl paused: the crawl was paused", "0.0/s now"},
	"08-resumed":         {"crawl running: the crawl runs", "bottleneck politeness: 8 hosts"},
	"09-restarted": {"0.0/s now, 0.0/s last minute, 7.5/s average", "! peak",
		"bottleneck dns: 6 host names"},
	"10-after-the-restart": {"7.7/s average", "bottleneck politeness: 8 hosts"},
	"11-no-delay": {"finished: the crawl has ended: frontier_exhausted", "0.0/s now",
		"! bottleneck"},
	"12-limit-of-pages": {"finished: the crawl has ended", "0.0/s now"},
	"13-limit-raised":   {"finished: the crawl has ended", "0.0/s now"},
	"14-limit-of-time":  {"finished: the crawl has ended", "queue 0 queued, 0 in flight"},
	"20-second-node-joins": {"under_replicated for 0s",
		"bottleneck handoff: n1: 560 of 560 partitions are still moving", "n2 alive now 0 0.0 0 0/"},
	"21-seen-by-the-second": {"handoff: n1: 560 of 560 partitions",
		"cluster default: rebalancing"},
	"22-third-node-joins": {"handoff: n1: 502 of 560 partitions", "n3 alive now 0 0.0 0 0/"},
	"23-steady": {"health ok",
		"bottleneck politeness: 60 hosts with queued URLs wait for their delay, 0 are in flight",
		", 0 in flight"},
	"24-steady-by-the-third": {"bottleneck politeness: 60 hosts", ", 0 in flight"},
	"25-killed-a-moment-ago": {"n3 has failed and was excluded", "n3 failed", "- - - -",
		"politeness: 60 hosts", "! 82 hosts"},
	"26-silent":      {"n3 has failed", "n3 failed", "- - - -", "politeness: 60 hosts"},
	"27-excluded":    {"n3 has failed", "politeness: 60 hosts"},
	"28-taking-over": {"n3 has failed", "politeness: 60 hosts"},
	"29-taken-over":  {"n3 has failed", "politeness: 60 hosts"},
	"30-one-failed": {"politeness: 57 hosts with queued URLs wait for their delay, 3 are in flight",
		", 3 in flight"},
	"31-it-comes-back": {"under_replicated for", "n3 suspect",
		"partitions are still moving"},
	"32-back-by-itself": {"cluster default: ", "queue 0 queued",
		"1024 partitions are taken over from silent members: n1, n2"},
	"33-converged-again":         {"politeness: 60 hosts", "health ok"},
	"34-totals-of-the-restarted": {"politeness: 60 hosts", "health ok"},
	"35-draining":                {"n2 draining", "22 in flight"},
	"36-draining-by-itself":      {"n2 draining", "4 in flight"},
	"37-left":                    {"n2 draining", "politeness: ", ", 2 in flight"},
	"38-cluster-paused":          {"crawl paused: the crawl was paused", "queue ", "! bottleneck"},
	"39-minority":                {"taking_over for", "politeness: 31 hosts"},
	"40-minority-for-long":       {"n3 has failed", "politeness: 31 hosts"},
	"41-stood-still":             {"n3 is not admitted", "n2 suspect"},
	"42-answers-again":           {"handoff: n1: 9 of 9 partitions"},
	"43-stopped": {"finished: the crawl has ended: stopped",
		"57,678 queued, 0 in flight", "0.0/s now", "! bottleneck"},
	"50-few-fetchers": {
		"bottleneck fetchers: all 2 fetchers are busy and 34 more hosts are ready: raise --fetchers",
		", 2 in flight",
	},
	"51-processors": {"bottleneck cpu: this process keeps 2 processors busy", ", 112 in flight"},
	"52-index":      {"processors busy", ", 53 in flight"},
	"53-no-worker": {
		"bottleneck fetchers: 30 hosts are ready, and this node fetches no page itself"},
	"54-the-last-pages": {"the crawl has ended: frontier_exhausted", "0.0/s now",
		"26.1/s last minute, "},
	"55-exhausted":       {"the crawl has ended: frontier_exhausted", "0.0/s now"},
	"56-exhausted-later": {"the crawl has ended: frontier_exhausted", "0.0/s now"},
	"57-nothing-due":     {"crawl waiting: every known URL was fetched; the next page is due in 59m"},
	"60-slow-names":      {"bottleneck dns: 1246 host names are being looked up"},
	"61-names-dead":      {"dns_down for", "bottleneck dns: no name server answers"},
	"62-all-hosts-fail": {
		"bottleneck politeness: all 5 hosts with queued URLs are backing off after errors"},
	"63-disk-low": {"low_disk for", "disk_full for", "bottleneck disk: only 21 MiB are free",
		"k1 fetches nothing: the disk is nearly full"},
	"64-disk-well-again": {"health ok", "bottleneck politeness: 30 hosts"},
}

// TestMoments: of each recorded moment one document is made whose figures agree, and in which a
// person reads the sentence that is true.
func TestMoments(t *testing.T) {
	t.Parallel()
	onsets, left := map[string]*nodestatus.Onsets{}, len(momentSentences)
	for _, m := range readMoments(t) {
		p := m.picture
		by := p.Name + m.name[:1] // a node of one run
		if onsets[by] == nil {
			onsets[by] = &nodestatus.Onsets{}
		}
		p.Began = onsets[by].Began()
		s := nodestatus.Merge(p)
		onsets[by].Note(&p, s)
		var b strings.Builder
		if err := plaintext.WriteStatus(&b, s); err != nil {
			t.Fatal(err)
		}
		for _, broken := range append(brokenLaws(s), brokenText(s)...) {
			t.Errorf("%s: %s\n%s", m.name, broken, b.String())
		}
		words := strings.Join(strings.Fields(b.String()), " ")
		want, ok := momentSentences[m.name]
		if !ok {
			t.Errorf("%s: say what a person reads of it:\n%s", m.name, b.String())
			continue
		}
		left--
		for _, part := range want {
			part, not := strings.CutPrefix(part, "! ")
			if strings.Contains(words, part) == not {
				t.Errorf("%s: %q (must stand there: %v) in\n%s", m.name, part, !not, b.String())
			}
		}
		if dir := os.Getenv("MOMENTS"); dir != "" { // for a report
			if err := os.WriteFile(filepath.Join(dir, m.name+
				".txt"), []byte(b.String()), 0o644); err != nil {
				t.Error(err)
			}
		}
		for _, r := range s.Cluster.Health.Reasons { // the node was killed within the run, not before it
			if r.Code == crawl.ReasonUnderReplicated && r.Since.Before(*p.Doc.Started) {
				t.Errorf("%s: %s since %v", m.name, r.Code, r.Since)
			}
		}
	}
	if left != 0 {
		t.Errorf("%d of the sentences have no moment", left)
	}
}
