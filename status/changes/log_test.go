package changes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestLog(t *testing.T) {
	t.Parallel()
	view := func(ms ...membership.Member) *membership.View { return &membership.View{Members: ms} }
	left := func(v *membership.View, id crawl.NodeID, boot crawl.Boot) *membership.View {
		v.Left = []membership.Departure{{ID: id, Boot: boot}}
		return v
	}
	a, b, c := membership.Member{ID: "a", Name: "A", Boot: 1}, membership.Member{ID: "b", Name: "B", Boot: 1}, membership.Member{ID: "c", Name: "C", Boot: 1}
	again, drains := b, b
	again.Boot = 2
	heavy := b
	heavy.Weight, heavy.Zone = 4, "east"
	drains.Draining = true
	report := func(m membership.Member) Report { return Report{InFlight: 10 * int64(m.Boot), Held: 5} }
	var log Log
	for i, s := range []struct {
		view        *membership.View
		cause, name string
		requeued    int64
		gone        string // id=state, joined by spaces
	}{ // each has ended before the next
		{view(a), "", "", 0, ""}, // the first view is no change
		{view(a), "", "", 0, ""},
		{view(a, b), crawl.CauseJoin, "B", 0, ""},
		{view(a, again), crawl.CauseJoin, "B", 10, ""},
		{view(a, drains), crawl.CauseJoin, "B", 20, ""}, // boot 1 after 2: another life
		{view(a, b), "", "", 0, ""},
		{view(a, heavy), "", "", 0, ""}, // the members are the same
		{view(a, b), "", "", 0, ""},
		{view(a, drains), crawl.CauseLeave, "B", 0, ""},
		{left(view(a), "b", 1), crawl.CauseLeave, "B", 10, "b=left"},
		{view(a, b), crawl.CauseJoin, "B", 0, ""},
		{view(a), crawl.CauseFailed, "B", 10, "b=failed"},
		{view(a, again), crawl.CauseJoin, "B", 0, ""},
		{left(view(a), "b", 1), crawl.CauseFailed, "B", 20, "b=failed"}, // a leave of the life before
		{view(a, b, c), crawl.CauseJoin, "B, C", 0, ""},
		{left(view(a), "c", 1), crawl.CauseFailed, "B", 10, "b=failed c=left"}, // the worse of two
		{view(a, b, c), crawl.CauseJoin, "B, C", 0, ""},
		{view(a), crawl.CauseFailed, "B, C", 20, "b=failed c=failed"},
	} {
		log.End(noon, 3)
		ch, _ := log.Note(s.view, noon, report, 3)
		if name := strings.Join(ch.Names, ", "); ch.Cause != s.cause || name != s.name || ch.sum.InFlight != s.requeued {
			t.Errorf("%d: %q %q %d, want %q %q %d", i, ch.Cause, name, ch.sum.InFlight, s.cause, s.name, s.requeued)
		}
		var gone []string
		for _, id := range []crawl.NodeID{"a", "b", "c"} {
			if d, ok := log.Departed()[id]; ok {
				gone = append(gone, string(id)+"="+d.Departure.State)
			}
		}
		if got := strings.Join(gone, " "); got != s.gone {
			t.Errorf("%d: gone %q, want %q", i, got, s.gone)
		}
	}
	if !log.Pending() {
		t.Error("the last change is not pending")
	}
	last, passed, ok := log.End(noon.Add(2*time.Second), 4)
	if !ok || *last.TakeoverSeconds != 2 || *last.PartitionsLost != 1 || *last.InflightRequeued != 20 || passed != 10 {
		t.Errorf("ended: %+v, %d passed on", last, passed)
	}
	if _, _, ok := log.End(noon.Add(3*time.Second), 4); ok || log.Pending() {
		t.Error("ended twice")
	}
	if s := log.Last(); *s.Cause != crawl.CauseFailed || *s.Node != "B, C" || *s.TakeoverSeconds != 2 || !s.At.Equal(noon) {
		t.Errorf("%+v", s)
	}
}

// A failure stays the last change until its partitions are served again, even
// when the failed node is back before that.
func TestFailureStaysTheLastChange(t *testing.T) {
	t.Parallel()
	a, b, c := membership.Member{ID: "a", Name: "A", Boot: 1}, membership.Member{ID: "b", Name: "B", Boot: 1}, membership.Member{ID: "c", Name: "C", Boot: 1}
	again := b
	again.Boot = 2
	var log Log
	for i, ms := range [][]membership.Member{{a, b, c}, {a, c}, {a, again, c}, {a, again}} {
		log.Note(&membership.View{Members: ms}, noon.Add(time.Duration(i)*time.Second), func(membership.Member) Report { return Report{7, 3} }, 0)
	}
	last, passed, ok := log.End(noon.Add(11*time.Second), 0)
	if !ok || *last.Cause != crawl.CauseFailed || *last.Node != "B, C" || *last.InflightRequeued != 14 || passed != 6 || *last.TakeoverSeconds != 10 {
		t.Errorf("%s of %s: %d fetches, %d partitions, %v s", *last.Cause, *last.Node, *last.InflightRequeued, passed, *last.TakeoverSeconds)
	}
	log.Note(&membership.View{Members: []membership.Member{a, again, c}}, noon, func(membership.Member) Report { return Report{} }, 0)
	if s := log.Last(); *s.Cause != crawl.CauseJoin || *s.Node != "C" || s.TakeoverSeconds != nil {
		t.Errorf("the change after it: %+v", s)
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	var log Log
	for i, s := range []struct {
		outstanding, copies int
		moves, repairs      [2]int
	}{
		{0, 0, [2]int{0, 0}, [2]int{0, 0}},
		{4, 7, [2]int{0, 4}, [2]int{0, 7}},
		{1, 9, [2]int{3, 4}, [2]int{0, 9}}, // more are missing than before
		{0, 2, [2]int{0, 0}, [2]int{7, 9}},
		{2, 0, [2]int{0, 2}, [2]int{0, 0}},
	} {
		if moves, repairs := log.Progress(s.outstanding, s.copies); moves != s.moves || repairs != s.repairs {
			t.Errorf("%d: moves %v, repairs %v; want %v, %v", i, moves, repairs, s.moves, s.repairs)
		}
	}
}

func TestPausedSince(t *testing.T) {
	t.Parallel()
	var log Log
	for i, s := range []struct {
		minority bool
		want     time.Time
	}{{false, time.Time{}}, {true, noon.Add(time.Second)}, {true, noon.Add(time.Second)}, {false, time.Time{}}, {true, noon.Add(4 * time.Second)}} {
		if got := log.PausedSince(s.minority, noon.Add(time.Duration(i)*time.Second)); !got.Equal(s.want) {
			t.Errorf("%d: since %v, want %v", i, got, s.want)
		}
	}
}

// codesOf names events by their codes, and their nodes if they have one.
func codesOf(events []crawl.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprint(&b, " ", e.Code)
		if e.Node != "" {
			fmt.Fprint(&b, "=", e.Node)
		}
	}
	return strings.TrimPrefix(b.String(), " ")
}

func TestMemberEvents(t *testing.T) {
	t.Parallel()
	member := func(id crawl.NodeID, boot crawl.Boot) membership.Member {
		return membership.Member{ID: id, Name: strings.ToUpper(string(id)), Boot: boot}
	}
	report := func(membership.Member) Report { return Report{InFlight: 4, Held: 9} }
	drains := member("d", 1)
	drains.Draining = true
	var log Log
	if _, events := log.Note(&membership.View{Members: []membership.Member{member("a", 1), member("b", 1), member("c", 1), member("d", 1)}}, noon, report, 0); events != nil {
		t.Errorf("the first view: %s", codesOf(events))
	}
	v := &membership.View{Members: []membership.Member{member("a", 1), drains, member("e", 1)}, Left: []membership.Departure{{ID: "c", Boot: 1}}}
	_, events := log.Note(v, noon, report, 0)
	if got, want := codesOf(events), "node_failed=B node_draining=D node_left=C node_joined=E"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if e := events[0]; e.Level != crawl.EventWarn || e.Fields["partitions_held"] != 9 || e.Fields["fetches_queued_again"] != int64(4) || !strings.Contains(e.Message, "4 open fetches") {
		t.Errorf("%+v", e)
	}
}

// TestPlaced: another weight or zone is an event, and no change of the members.
func TestPlaced(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	none := func(membership.Member) Report { return Report{} }
	var log Log
	at := func(weight int, zone string) string {
		m := membership.Member{ID: "a", Name: "A", Boot: 1}
		m.Weight, m.Zone = weight, zone
		ch, told := log.Note(&membership.View{Members: []membership.Member{m}}, now, none, 0)
		if ch.Cause != "" || log.Pending() || log.Last().Cause != nil {
			t.Errorf("weight %d, zone %q: %+v", weight, zone, ch)
		}
		var out []string
		for _, e := range told {
			out = append(out, e.Code+" "+e.Node+": "+e.Message)
		}
		return strings.Join(out, "; ")
	}
	for _, s := range []struct {
		weight int
		zone   string
		want   string
	}{
		{0, "", ""},
		{1, "", ""}, // the same
		{4, "", "node_placed A: A has weight 4 and no zone from now on: partitions and copies move"},
		{4, "east", "node_placed A: A has weight 4 and zone east from now on: partitions and copies move"},
		{4, "east", ""},
	} {
		if got := at(s.weight, s.zone); got != s.want {
			t.Errorf("weight %d, zone %q: %q, want %q", s.weight, s.zone, got, s.want)
		}
	}
}
