package spread

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/settings/crawldoc"
	"crawlnode/settings/crawldoc/crawldoctest"
)

// TestRevocationsAreFull counts those that have to be remembered, not those that are over.
func TestRevocationsAreFull(t *testing.T) {
	t.Parallel()
	n := newCluster(t, 1).nodes["a"]
	fill := func(until time.Time) {
		t.Helper()
		if _, err := n.doc.Change(func(d *crawldoc.Document) *crawldoc.Document {
			c := *d
			c.Version++
			c.Revoked = crawldoc.Revocations{}
			for i := range crawldoc.MaxRevoked {
				c.Revoked[fmt.Sprintf("%016x", i)] = until
			}
			return &c
		}); err != nil {
			t.Fatal(err)
		}
	}
	fill(time.Now().Add(time.Hour))
	if _, err := n.Revoke(t.Context(), "ffffffffffffffff"); !errors.Is(err, crawl.ErrRefused) ||
		!strings.Contains(err.Error(), "rotate-key") {
		t.Errorf("one more than fit: %v", err)
	}
	if _, err := n.Revoke(t.Context(), "0000000000000001"); err != nil {
		t.Errorf("one that is revoked already: %v", err)
	}
	fill(time.Now().Add(-time.Hour))
	if _, err := n.Revoke(t.Context(), "ffffffffffffffff"); err != nil {
		t.Errorf("one more than are over: %v", err)
	}
}

// TestUnsafeChangesAreNotForTheNetwork is the table of callers that may change what opens a
// private network.
func TestUnsafeChangesAreNotForTheNetwork(t *testing.T) {
	t.Parallel()
	before, after := crawldoctest.Settings(), crawldoctest.Settings()
	after.UserAgent = "Mozilla/5.0"
	for _, c := range []struct {
		remote, flag, ok bool
	}{{false, false, true}, {true, false, false}, {true, true, true}, {false, true, true}} {
		err := mayWiden(crawl.Caller{Role: crawl.RoleAdmin, Remote: c.remote}, &before, &after, c.flag)
		if (err == nil) != c.ok || err != nil &&
			(!errors.Is(err, crawl.ErrForbidden) ||
				!strings.Contains(err.Error(), "--allow-remote-unsafe")) {
			t.Errorf("%+v: %v", c, err)
		}
		if err := mayWiden(crawl.Caller{Remote: c.remote}, &before, &before, c.flag); err != nil {
			t.Errorf("%+v: no change is refused: %v", c, err)
		}
	}
}

// setDepth edits a report as a person does.
func setDepth(r *crawl.CrawlReport, depth string) {
	r.Settings = slices.Clone(r.Settings)
	for i, s := range r.Settings {
		if s.Name == "max_depth" {
			r.Settings[i].Value = json.Number(depth)
		}
	}
}

// TestReportWrittenBack: a report with other settings is a change; with another state it is none.
func TestReportWrittenBack(t *testing.T) {
	t.Parallel()
	n := newCluster(t, 1).nodes["a"]
	for _, c := range []struct {
		edit  func(*crawl.CrawlReport)
		wrong string // field; "": the change is made
	}{
		{func(r *crawl.CrawlReport) { setDepth(r, "3"); r.Untold = []string{"b"} }, ""},
		{func(r *crawl.CrawlReport) { setDepth(r, "4"); r.State = "" }, ""},
		{func(r *crawl.CrawlReport) { setDepth(r, "5"); r.State = crawl.CrawlPaused }, "state"},
		{func(r *crawl.CrawlReport) {
			setDepth(r, "5")
			r.FinishReason = new(crawl.FinishStopped)
		}, "finish_reason"},
	} {
		before := n.o.document().Report()
		report := before
		c.edit(&report)
		raw, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		var change crawl.CrawlChange
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&change); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		after, err := n.ChangeSettings(t.Context(), change)
		if wrong, ok := errors.AsType[*crawl.FieldErrors](err); c.wrong != "" {
			if !ok || len(wrong.Fields) != 1 || wrong.Fields[0].Field != c.wrong || wrong.Fixed ||
				n.o.document().Name() != before.Version {
				t.Errorf("another %s: %v", c.wrong, err)
			}
		} else if err != nil || after.Settings.Text("max_depth") != report.Settings.Text("max_depth") {
			t.Errorf("%+v: %v", after, err)
		}
	}
}

// TestWaitingIsRunning: reports say waiting of a running crawl for which nothing is due.
func TestWaitingIsRunning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state, said string
		ok          bool
	}{{crawl.CrawlRunning, crawl.CrawlWaiting, true}, {crawl.CrawlRunning, crawl.CrawlRunning, true},
		{crawl.CrawlPaused, crawl.CrawlWaiting, false}} {
		if err := sameState(&crawldoc.Document{
			State: c.state,
		}, &crawl.CrawlChange{State: c.said}); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestChangesOfOneVersion: a change for a version is made once, and a change that is made already
// stores no document.
func TestChangesOfOneVersion(t *testing.T) {
	t.Parallel()
	n := newCluster(t, 1).nodes["a"]
	change := func(depth int, version string) (crawl.CrawlReport, error) {
		return n.ChangeSettings(t.Context(), crawl.CrawlChange{
			Version:  version,
			Settings: map[string]json.RawMessage{"max_depth": json.RawMessage(fmt.Sprint(depth))},
		})
	}
	first := n.o.document().Name()
	r, err := change(3, first)
	if err != nil || r.Settings.Text("max_depth") != "3" || n.changed.Load() != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := change(4, first); !errors.Is(err, crawl.ErrChanged) ||
		!strings.Contains(err.Error(), r.Version) {
		t.Errorf("a second change for the same version: %v", err)
	}
	if again, err := change(3, ""); err != nil || again.Version != r.Version || n.changed.Load() != 1 {
		t.Errorf("the same change again: %+v, %v", again, err)
	}
	if _, err := n.Control(t.Context(), crawl.ActionResume); err == nil {
		t.Error("an idle crawl was resumed")
	}
	n.late = errors.New("not yet")
	if _, err := change(5, ""); !errors.Is(err, n.late) {
		t.Errorf("before the node is ready: %v", err)
	}
}
