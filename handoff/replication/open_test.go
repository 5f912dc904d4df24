package replication

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/hints"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/wire"
)

// TestOpen: what a link does first follows from the copy that the other node has. A node that
// holds the partition itself, by another view, gets no copy, and its copy was not compared:
// the next link must still find out whether it has what was lost here.
func TestOpen(t *testing.T) {
	link := machine.OpenLink{P: 1, Node: "b", Epoch: 1, Attempt: 3}
	down, copying := machine.LinkDown{P: 1, Node: "b", Attempt: 3}, machine.LinkCopying{P: 1, Node: "b", Attempt: 3}
	follows, ahead := machine.LinkFollows{P: 1, Node: "b", Attempt: 3}, machine.LinkAhead{P: 1, Node: "b", Attempt: 3}
	for name, c := range map[string]struct {
		there machine.Answer
		want  []machine.Event
		met   bool
	}{
		"nothing":         {machine.Answer{P: 1}, []machine.Event{copying, follows}, true},
		"an older tenure": {machine.Answer{P: 1, Copy: true, Seq: 7}, []machine.Event{copying, follows}, true},
		"a suspect copy":  {machine.Answer{P: 1, Copy: true, Suspect: true, Epoch: 1, Seq: 7}, []machine.Event{copying, follows}, true},
		"everything":      {machine.Answer{P: 1, Copy: true, Epoch: 1, Seq: 7}, []machine.Event{follows}, true},
		"less, no hints":  {machine.Answer{P: 1, Copy: true, Epoch: 1, Seq: 6}, []machine.Event{copying, follows}, true},
		"more than here":  {machine.Answer{P: 1, Copy: true, Epoch: 1, Seq: 8}, []machine.Event{ahead}, false},
		"it holds it":     {machine.Answer{P: 1, Holds: true, Epoch: 2, Seq: 9}, []machine.Event{down}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			rs, events := underTest(t)
			rs.opts.Call = func(_ context.Context, _ crawl.NodeID, _ string, _, reply any) error {
				reply.(*wire.WhereReply).Copies = []machine.Answer{c.there}
				return nil
			}
			rs.Open(t.Context(), link)
			synctest.Wait()
			var got []machine.Event
			for len(events) > 0 {
				got = append(got, <-events)
			}
			if met := rs.bases.parts[1].met["b"]; !slices.Equal(got, c.want) || met != c.met {
				t.Errorf("%s: events %+v, compared %v; want %+v, %v", name, got, met, c.want, c.met)
			}
		})
	}
}

// TestOpenAfterALoss: this node kept hints for b, then its disk lost the mutations after the fifth,
// and it has made two others since. b goes on from what both have. A copy with as many mutations as
// are here has lost ones among them, and is made anew.
func TestOpenAfterALoss(t *testing.T) {
	link := machine.OpenLink{P: 1, Node: "b", Epoch: 1, Attempt: 3}
	for seq, want := range map[crawl.Seq]struct{ copied, caughtUp int64 }{3: {0, 1}, 5: {0, 1}, 2: {1, 0}, 6: {1, 0}, 7: {1, 0}} {
		dir := filepath.Join(t.TempDir(), "hints")
		log := func() *hints.Log {
			return hints.New(hints.Options{Dir: dir, Keep: time.Hour, Logger: slog.New(slog.DiscardHandler)})
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		first := log()
		first.Load(func(crawl.Partition) machine.Found { return machine.Found{} })
		first.Begin(hints.Behind{Node: "b", P: 1, At: machine.Found{Generation: 1, Epoch: 1, Seq: 3, Held: true}, Sent: 7},
			[]crawl.Mutation{mutationOf(4, 9), mutationOf(5, 9), mutationOf(6, 9), mutationOf(7, 9)})
		first.Run(ended)
		second := log()
		second.Load(func(crawl.Partition) machine.Found {
			return machine.Found{Generation: 1, Epoch: 1, Seq: 5, Held: true}
		})
		second.Add(1, mutationOf(6, 9))
		second.Add(1, mutationOf(7, 9))
		second.Run(ended)
		synctest.Test(t, func(t *testing.T) {
			rs, _ := underTest(t)
			rs.opts.Hints = log()
			rs.ResumeHints(t.Context())
			rs.opts.Call = func(_ context.Context, _ crawl.NodeID, _ string, _, reply any) error {
				reply.(*wire.WhereReply).Copies = []machine.Answer{{P: 1, Copy: true, Epoch: 1, Seq: seq}}
				return nil
			}
			rs.Open(t.Context(), link)
			synctest.Wait()
			if rs.Copied() != want.copied || rs.CaughtUp() != want.caughtUp {
				t.Errorf("a copy at mutation %d: %d copied, %d caught up; want %+v", seq, rs.Copied(), rs.CaughtUp(), want)
			}
		})
	}
}

// TestLeavesBeforeItAnswers: a link to a node that drains is closed before the node has said whether
// its copy goes on. The hints cover a copy that does, at just that mutation.
func TestLeavesBeforeItAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rs, _ := underTest(t)
		log := hints.New(hints.Options{Dir: filepath.Join(t.TempDir(), "hints"), Keep: time.Hour, Logger: slog.New(slog.DiscardHandler)})
		rs = idle(rs)
		rs.opts.Hints = log
		link := machine.OpenLink{P: 1, Node: "b", Epoch: 1, Attempt: 3, Based: true, BaseEpoch: 0, BaseSeq: 7}
		rs.Open(t.Context(), link)
		rs.of("b").links[1].sink(1, mutationOf(8, 9))
		l := rs.of("b").links[1]
		rs.Close(machine.CloseLink{P: 1, Node: "b", Attempt: 3, Leaves: true})
		l.sink(1, mutationOf(9, 9))
		for c, want := range map[machine.Found]machine.Continuation{{Epoch: 1, Seq: 7}: machine.ByTail, {Epoch: 1, Seq: 8}: machine.Anew, {Epoch: 0, Seq: 7}: machine.Anew} {
			if got := log.Continues("b", 1, 1, c); got != want {
				t.Errorf("a copy at %+v goes on by %v, want %v", c, got, want)
			}
		}
		if ms, err := log.Read(&hints.Cursor{}, 1, 7, 9, 1<<20); err != nil || len(ms) != 2 {
			t.Errorf("%d mutations, %v", len(ms), err)
		}
	})
}

// TestUnsureCopyAdoptsNothing: a copy of an earlier tenure whose machine lost power may lack the end
// of what it has acknowledged. One that adopts a tenure counts as sure, so it is made anew.
func TestUnsureCopyAdoptsNothing(t *testing.T) {
	for unsure, want := range map[bool][]string{false: {wire.CallWhere, wire.CallAdopt}, true: {wire.CallWhere}} {
		synctest.Test(t, func(t *testing.T) {
			rs, _ := underTest(t)
			rs.opts.Hints = hints.New(hints.Options{Dir: filepath.Join(t.TempDir(), "hints"), Keep: time.Hour,
				Logger: slog.New(slog.DiscardHandler)})
			rs.opts.Hints.Begin(hints.Behind{Node: "b", P: 1, At: machine.Found{Generation: 1, Epoch: 0, Seq: 3, Held: true}, Sent: 7}, nil)
			for seq := crawl.Seq(4); seq <= 7; seq++ {
				m := mutationOf(seq, 9)
				m.Epoch = 0
				rs.opts.Hints.Add(1, m)
			}
			rs.opts.Hints.Promote(nil, hints.Promoted{P: 1, Generation: 1, Epoch: 1, From: 0, Seq: 7})
			var asked []string
			rs.opts.Call = func(_ context.Context, _ crawl.NodeID, call string, _, reply any) error {
				asked = append(asked, call)
				if where, ok := reply.(*wire.WhereReply); ok {
					where.Copies = []machine.Answer{{P: 1, Copy: true, Unsure: unsure, Epoch: 0, Seq: 5}}
					return nil
				}
				return context.Canceled // what becomes of the adoption is tested elsewhere
			}
			rs.Open(t.Context(), machine.OpenLink{P: 1, Node: "b", Epoch: 1, Attempt: 3})
			synctest.Wait()
			if !slices.Equal(asked, want) || unsure && rs.Copied() != 1 {
				t.Errorf("unsure %v: it is asked %v, want %v; %d copied", unsure, asked, want, rs.Copied())
			}
		})
	}
}
