package urlfrontier

import (
	"context"
	"time"

	"crawlnode/crawl"
)

// seedsEvery is how often the audit gets a line about the seeds of one stream: the first ones
// before they are acknowledged, later ones together.
const seedsEvery = 10 * time.Second

// seedTally counts the seeds of a stream that are not in the audit yet. One goroutine uses it.
type seedTally struct {
	server *Server
	ctx    context.Context // of the stream
	call   string
	told   time.Time // of the last line
	count  int
	first  string
}

type tallyKey struct{}

// tally counts the seeds that are stored under the context that it returns, and has them in the
// audit. done is called at the end of the stream.
func (s *Server) tally(ctx context.Context, call string) (counted context.Context, done func()) {
	t := &seedTally{server: s, ctx: ctx, call: call}
	return context.WithValue(ctx, tallyKey{}, t), t.tell
}

// noteSeeds counts the seeds among found URLs that were stored.
func noteSeeds(ctx context.Context, found []crawl.FoundURL) {
	t, ok := ctx.Value(tallyKey{}).(*seedTally)
	if !ok {
		return
	}
	for i := range found {
		if found[i].IsSeed() {
			if t.count++; t.count == 1 {
				t.first = found[i].URL
			}
		}
	}
	if now := time.Now(); t.count > 0 && now.Sub(t.told) >= seedsEvery {
		t.tell()
		t.told = now
	}
}

// tell writes a line about what was counted.
func (t *seedTally) tell() {
	if t.count == 0 {
		return
	}
	before := ""
	if st, err := t.server.backend.Status(context.WithoutCancel(t.ctx), true); err == nil &&
		st != nil {
		before = st.Crawl.State
	}
	t.server.noteChange(t.ctx, t.call, before, crawl.SeedsAdded(t.count, t.first), nil)
	t.count, t.first = 0, ""
}
