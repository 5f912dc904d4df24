package membership

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"crawlnode/membership/consensus"
)

// A data directory that was copied, or moved while the process that used it
// still lives, makes two processes with one id. That they never crawl side by
// side rests on four things:
//
//   - a process with data asks, before anybody hears of it, whether another one
//     answers at its own address, or where the view on its disk has its id; it ends
//     when one does. A copy that advertises the name of the living one shows in
//     gossip under the address of that, so nothing else would tell the two apart;
//   - the one that no view lists asks the other, at the addresses under which
//     gossip knows it, and ends when it answers;
//   - the one that a view has left behind, because it lists a higher boot of its
//     id, or its boot for another process, ends;
//   - a member that hears both takes the higher boot neither for a sign of life
//     nor for proof that the listed one is dead.
//
// Copies that were started from one and the same state have one boot number: then
// the one that the view lists stays.
//
// A node that was killed and comes back with its data and its name at another
// address is no twin of its former self: its name leads to itself, so it gets its
// own answer, which it knows by Message.Mark, and at its former address nobody
// answers. Gossip shows its former boot for some seconds yet; then its new boot takes
// the place of the old one in the view. Only the answer of a process counts.

// ErrTwin: another process has this node's id.
var ErrTwin = errors.New("membership: another process runs with this node's identity")

// mark is what this process drew to tell itself from others, in hex.
func (m *Membership) mark() string { return hex.EncodeToString(m.gossip.mark[:]) }

// seekFirst looks for a living process with this node's id while nobody has heard of
// this one. It takes callTimeout for each address at which nobody is, which is one at
// most for a node that moves with its name.
func (l *loop) seekFirst(ctx context.Context) error {
	places := l.formerPlaces()
	if len(places) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer l.calls.Wait()
	defer cancel()
	found := make(chan Member, 1)
	l.calls.Go(func() { found <- l.m.livesAt(ctx, l.m.self, places) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case other := <-found:
			if other.Boot == 0 {
				return nil
			}
			return twinAt(other)
		case in := <-l.m.calls:
			in.messages = l.fromSelf(in.messages) // an answer to anybody else would show its boot
			if err := l.answer(ctx, in); err != nil {
				return err
			}
		}
	}
}

// fromSelf keeps what processes with this node's id have sent: greetings, by which one
// tells whether another lives.
func (l *loop) fromSelf(messages []consensus.Message) []consensus.Message {
	return slices.DeleteFunc(messages, func(m consensus.Message) bool { return m.From != l.m.self.ID })
}

// formerPlaces lists where another process with this node's id may be: at its own
// address, and at those that the view on its disk has. A first start has none.
func (l *loop) formerPlaces() []string {
	me := l.m.self
	if me.Boot <= 1 {
		return nil
	}
	out := []string{me.RPC}
	if v := l.m.core.View(); v != nil {
		listed, _ := v.Member(me.ID)
		for _, addr := range callable(listed) {
			if addr != "" && !slices.Contains(out, addr) {
				out = append(out, addr)
			}
		}
	}
	return out
}

// livesAt asks at some addresses for another process with the id of a member, until
// one answers. Boot 0: none does.
func (m *Membership) livesAt(ctx context.Context, at Member, places []string) Member {
	for _, addr := range places {
		limited, cancel := context.WithTimeout(ctx, callTimeout)
		other := at
		other.RPC = addr
		boot, ok := m.answers(limited, other)
		cancel()
		if ok {
			other.Boot = boot
			return other
		}
	}
	at.Boot = 0
	return at
}

// seek asks whether a process with this node's id lives where gossip knows one.
// Gossip may show a boot of this node that is long dead.
func (l *loop) seek(ctx context.Context, at Member) {
	if l.seeking {
		return // gossip will repeat it
	}
	l.seeking = true
	l.calls.Go(func() {
		select {
		case l.twinSought <- l.m.livesAt(ctx, at, callable(at)):
		case <-ctx.Done():
		}
	})
}

// callable lists where calls may reach a node: at the address that it gives, and,
// since the name in that may lead elsewhere by now, at the one that its gossip has.
func callable(m Member) []string {
	out := []string{m.RPC}
	rpc, err := splitPort(m.RPC)
	gossip, err2 := splitPort(m.Gossip)
	if err != nil || err2 != nil || rpc.host == gossip.host {
		return out
	}
	return append(out, hostPort{gossip.host, rpc.port}.String())
}

// giveWay ends this process when a living one has its id, unless the other one is
// the copy.
func (l *loop) giveWay(other Member) error {
	l.seeking = false
	me := l.m.self
	if other.Boot == 0 || other.Boot > me.Boot {
		return nil
	}
	if v := l.m.core.View(); v != nil && slices.ContainsFunc(v.Members, func(m Member) bool {
		return m.ID == me.ID && m.Boot == me.Boot && m.RPC == me.RPC
	}) {
		return nil
	}
	return twinAt(other)
}

// twinAt is the end of a process whose id another one has that answers.
func twinAt(other Member) error {
	return fmt.Errorf("%w: node %s answers at %s; its data directory was copied, or moved while it runs: stop one of the two, or start this one with an empty --data-dir", ErrTwin, other.ID, other.RPC)
}

// leftBehind ends this process when a view has passed it over.
func (l *loop) leftBehind() error { return passedOver(l.m.core.View(), l.m.self) }

// passedOver is the end of a process when a view lists a later start of its id, or
// gives its boot to another process, which came from the same data.
func passedOver(v *View, me Member) error {
	if v == nil {
		return nil
	}
	m, ok := v.Member(me.ID)
	var unknown consensus.Process // where the system does not tell
	switch {
	case !ok:
		return nil
	case m.Boot > me.Boot:
		return fmt.Errorf("%w: a later start of node %s is a member, at %s (boot %d, this is %d); the data directory was copied, or is an old copy: this one cannot be used again", ErrTwin, me.ID, m.RPC, m.Boot, me.Boot)
	case m.Boot == me.Boot && m.Process != me.Process && m.Process != unknown && me.Process != unknown:
		return fmt.Errorf("%w: another process with the data of node %s is a member, at %s (both are boot %d); the data directory was copied: stop one of the two, or start this one with an empty --data-dir", ErrTwin, me.ID, m.RPC, me.Boot)
	}
	return nil
}
