package membership

import (
	"context"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// This file carries messages between the core and other nodes: out through
// Caller, each on a goroutine of its own, in through Handle.

const (
	callTimeout = 2 * time.Second
	// maxCalls bounds the calls under way to one node; more are dropped, which
	// the core takes for lost messages.
	maxCalls = 4
)

// result is how a call ended.
type result struct {
	to       crawl.NodeID
	boot     crawl.Boot
	messages []consensus.Message
	err      error
}

// answer passes a caller's messages to the core and replies with the messages that the
// core has for the caller.
func (l *loop) answer(ctx context.Context, in incoming) error {
	var reply []consensus.Message
	if l.m.stalled.Load() {
		in.messages = l.fromSelf(in.messages) // the others count as lost
	}
	for _, m := range in.messages {
		if err := l.step(ctx, consensus.Received{Message: m}, &reply); err != nil {
			return err
		}
	}
	in.reply <- reply
	return nil
}

// call sends a message on a goroutine of its own.
func (l *loop) call(ctx context.Context, msg consensus.Message) {
	to, ok := l.address(msg.To)
	if !ok || l.calling[msg.To] >= maxCalls {
		return
	}
	l.calling[msg.To]++
	l.calls.Go(func() {
		limited, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		r := result{to: msg.To, boot: to.Boot}
		payload, err := l.m.o.Caller.Call(limited, to, consensus.Encode([]consensus.Message{msg}))
		if err == nil {
			r.messages, err = consensus.Decode(payload)
		}
		r.err = err
		select {
		case l.results <- r:
		case <-ctx.Done():
		}
	})
}

// address finds a node: as its own metadata say, else as the view lists it.
func (l *loop) address(id crawl.NodeID) (Member, bool) {
	var listed Member
	var ok bool
	if v := l.m.core.View(); v != nil {
		listed, ok = v.Member(id)
	}
	n := l.nodes[id]
	if n == nil || ok && n.Boot < listed.Boot {
		return listed, ok
	}
	return Member{ID: id, Name: n.Name, Boot: n.Boot, Since: listed.Since, Draining: listed.Draining,
		RPC: n.RPC, HTTP: n.HTTP, Gossip: n.Gossip, Process: n.Process}, true
}

// onResult takes in how a call ended.
func (l *loop) onResult(ctx context.Context, r result) error {
	if l.calling[r.to]--; l.calling[r.to] == 0 {
		delete(l.calling, r.to)
	}
	if n := l.nodes[r.to]; n != nil && n.Boot == r.boot {
		n.called(r.err == nil, time.Now())
	}
	if l.m.stalled.Load() {
		return nil
	}
	if r.err != nil {
		l.m.o.Logger.Debug("membership call failed", "peer", r.to, "err", r.err)
		return nil
	}
	for _, m := range r.messages {
		if err := l.step(ctx, consensus.Received{Message: m}, nil); err != nil {
			return err
		}
	}
	return nil
}
