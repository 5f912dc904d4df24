package render

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/render/browser"
	"crawlnode/ring"
	"crawlnode/web/urlnorm"
)

// pair is a node that shows a page of a.test, and the one that holds b.test.
func pair(t *testing.T) (me, you *Renderer, calls *atomic.Int32) {
	me, you = rig(t, crawl.Settings{}), rig(t, crawl.Settings{})
	your := map[crawl.Partition]bool{ring.PartitionOf("b.test", 1024): true}
	nodeOf(me).your, nodeOf(you).your = your, your
	nodeOf(me).you, you.o.Self = you, "you"
	return me, you, &nodeOf(me).calls
}

func (r *Renderer) ask(ctx context.Context, t *testing.T, u string) (browser.Response, error) {
	a := &asker{
		r:     r,
		page:  showing(t, "http://a.test/"),
		s:     &r.o.Node.Rules().Settings,
		rules: r.o.Node.Rules(),
		end:   func(error) {},
	}
	return a.Fetch(ctx, browser.Request{URL: u, Method: "GET", Kind: "Script"})
}

// TestOtherNodesHost: its holder makes one request, whoever asks and how often, until the answer
// expires on both sides.
func TestOtherNodesHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		me, you, calls := pair(t)
		fetched := 0
		answer := func(urlnorm.URL, int) *crawl.Outcome {
			fetched++
			o := ok("script")
			o.Part.Header = http.Header{"X-Latin": {"\xe4"}, "Cache-Control": {"max-age=60"}}
			return o
		}
		const u = "http://b.test/x.js"
		for k, want := range []struct {
			pause          time.Duration
			fetched, calls int
			hits           int64
		}{{0, 1, 1, 0}, {0, 1, 1, 1}, {59 * time.Second, 1, 1, 2}, {2 * time.Second, 2, 2, 2}} {
			time.Sleep(want.pause)
			done := make(chan error, 1)
			go func() {
				got, err := me.ask(t.Context(), t, u)
				if err == nil &&
					(got.Status != 200 || string(got.Body) != "script" || got.Header.Get("X-Latin") != "\xe4") {
					err = errors.New("another answer")
				}
				done <- err
			}()
			synctest.Wait()
			serve(you.Parts, answer)
			if err := <-done; err != nil || fetched != want.fetched || int(calls.Load()) != want.calls ||
				me.hits.Load() != want.hits {
				t.Errorf("%d: %v; %d fetched, %d calls, %d hits", k, err, fetched, calls.Load(), me.hits.Load())
			}
		}
		if len(me.Parts.Waiting("", time.Now())) > 0 || me.Parts.Wants("b.test") {
			t.Error("this node waits for another node's host itself")
		}
		// What the holder has answered to one node it has for the next one.
		me.Parts = newParts(1<<20, new(looks))
		if _, err := me.ask(t.Context(), t, u); err != nil || me.hits.Load() != 3 {
			t.Errorf("%v, %d hits", err, me.hits.Load())
		}
	})
}

// TestOtherNodesHostMoves: the next holder is asked, and a page waits for it as long as it may.
func TestOtherNodesHostMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		me, you, calls := pair(t)
		holds := nodeOf(you)
		holds.give("nobody") // it moves
		done := make(chan error, 1)
		go func() { _, err := me.ask(t.Context(), t, "http://b.test/x.js"); done <- err }()
		time.Sleep(3 * time.Second)
		holds.all.Store(nil)
		time.Sleep(time.Second)
		holds.give("nobody") // while it waits there
		time.Sleep(time.Second)
		holds.all.Store(nil)
		time.Sleep(time.Second)
		serve(you.Parts, func(urlnorm.URL, int) *crawl.Outcome { return ok("x") })
		if err := <-done; err != nil || calls.Load() < 5 {
			t.Errorf("%v after %d calls", err, calls.Load())
		}
		holds.give("nobody")
		began := time.Now()
		if _, err := me.ask(t.Context(), t, "http://b.test/y.js"); err == nil ||
			time.Since(began) > Patience+time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// TestServeRefuses what is not this node's to fetch.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	_, you, _ := pair(t)
	of := func(u string) *peer.PartRequest {
		return &peer.PartRequest{
			Url:       u,
			Partition: uint32(ring.PartitionOf(crawl.Host(url(t, u).Host()), 1024)),
		}
	}
	wrong := of("http://b.test/")
	wrong.Partition++
	for name, c := range map[string]struct {
		req    *peer.PartRequest
		holder crawl.NodeID // of all partitions; "": as it was
		code   codes.Code
	}{
		"no URL":       {&peer.PartRequest{Url: "http://[/"}, "", codes.InvalidArgument},
		"partition":    {wrong, "you", codes.FailedPrecondition},
		"not held":     {of("http://a.test/"), "", codes.FailedPrecondition},
		"out of scope": {of("http://stranger.test/"), "you", codes.OK},
	} {
		if nodeOf(you).all.Store(nil); c.holder != "" {
			nodeOf(you).give(c.holder)
		}
		reply, err := you.Serve(t.Context(), c.req)
		if status.Code(err) != c.code || err == nil && reply.Refusal == "" {
			t.Errorf("%s: %v, %v", name, reply, err)
		}
	}
	nodeOf(you).all.Store(nil)
	for range maxServed {
		you.served <- struct{}{}
	}
	if _, err := you.Serve(t.Context(), of("http://b.test/")); status.Code(err) !=
		codes.ResourceExhausted {
		t.Errorf("without bounds: %v", err)
	}
}

// TestReply: an answer on its way between nodes stays what it is, within bounds.
func TestReply(t *testing.T) {
	t.Parallel()
	big := toReply(&crawl.Part{Status: 200, Body: bytes.Repeat([]byte("x"), maxCarried+1)}, time.Hour,
		false)
	if big.Refusal == "" || len(big.Body) > 0 {
		t.Error("too much was sent")
	}
	for name, m := range map[string]*peer.PartReply{
		"no status": {}, "status": {Status: 1 << 20},
		"body": {Status: 200, Body: make([]byte, maxCarried+1)},
	} {
		if a, _, err := fromReply(m); err == nil {
			t.Errorf("%s: %+v", name, a)
		}
	}
	for ms, want := range map[int64]time.Duration{-1: 0, 1 << 62: longestLife, 1000: time.Second} {
		a, life, err := fromReply(
			&peer.PartReply{Refusal: strings.Repeat("x", 5000), LifeMs: ms, Fields: []*peer.PartField{nil}})
		if err != nil || life != want || len(a.Refusal) > 1000 {
			t.Errorf("%d ms: %v, %v", ms, life, err)
		}
	}
}

// TestKeepIsBounded: answers of other nodes are in the same room as those of this one, and replace
// nothing that waits.
func TestKeepIsBounded(t *testing.T) {
	t.Parallel()
	p := newParts(10_000, new(looks))
	now := time.Now()
	for k := range 100 {
		p.keep(url(t, "http://b.test/"+strings.Repeat("x", k)), &crawl.Part{Body: make([]byte, 1000)},
			now.Add(time.Hour))
	}
	if p.bytes > p.maxBytes || len(p.byURL) > 10 || p.left != 0 {
		t.Errorf("%d bytes, %d parts, %d wait", p.bytes, len(p.byURL), p.left)
	}
	u := url(t, "http://a.test/waits")
	x, _, _, err := p.want(1, u, now)
	if p.keep(u, &crawl.Part{}, now.Add(time.Hour)); err != nil || p.byURL[u] != x ||
		p.kept(u, now) != nil {
		t.Errorf("%v: what waits was replaced", err)
	}
}
