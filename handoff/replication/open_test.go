package replication

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"crawlnode/crawl"
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
