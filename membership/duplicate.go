package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"crawlnode/membership/consensus"
	"crawlnode/membership/gossip"
)

// If a data directory is copied, or moved while the process that used it still runs, two
// processes have one id: the identity is duplicate. Four rules keep them from crawling
// side by side:
//
//   - before it gossips, a process with data asks whether another process answers at its
//     own address, or at the addresses that the view on its disk has for its id; if one
//     does, it ends. A copy that advertises the name of the first process has the address
//     of that one in gossip, so nothing else would tell the two apart;
//   - a process that no view lists asks the other one, at the addresses that gossip has
//     for their id, and ends when it answers;
//   - a process ends when a view lists a higher boot of its id, or gives its boot to
//     another process;
//   - a member that receives messages of both boots takes the higher one neither for a
//     sign of life nor for proof that the listed one is dead.
//
// Copies that were started from the same state have one boot number: then the one that
// the view lists stays.
//
// A node that was killed and restarted with its data and its name at another address has
// no duplicate: its name leads to itself, so it gets its own answer, which it recognises
// by Message.Mark, and at its former address no process answers. Gossip shows its former
// boot for some more seconds; then its new boot replaces the old one in the view. Only
// the answer of a process counts.

// ErrDuplicate: another process has this node's id.
var ErrDuplicate = errors.New("membership: another process runs with this node's identity")

// checkDuplicate looks for another process with this node's id before this one gossips.
// It takes callTimeout for each address at which no process answers. For a node that
// moves with its name, that is at most one.
func (l *loop) checkDuplicate(ctx context.Context) error {
	addrs := l.ownAddresses()
	if len(addrs) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer l.calls.Wait()
	defer cancel()
	found := make(chan Member, 1)
	l.calls.Go(func() { found <- l.m.firstToAnswer(ctx, l.m.self, addrs) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case other := <-found:
			if other.Boot == 0 {
				return nil
			}
			return duplicateError(other)
		case in := <-l.m.calls:
			in.messages = l.fromSelf(in.messages) // an answer to another node would show its boot
			if err := l.answer(ctx, in); err != nil {
				return err
			}
		}
	}
}

// fromSelf keeps the messages of processes with this node's id: greetings, which ask
// whether another one runs.
func (l *loop) fromSelf(messages []consensus.Message) []consensus.Message {
	return slices.DeleteFunc(messages, func(m consensus.Message) bool { return m.From != l.m.self.ID })
}

// ownAddresses lists where another process with this node's id may be: this node's own
// address, and those that the view on its disk has. At the first start there is none.
func (l *loop) ownAddresses() []string {
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

// firstToAnswer asks at some addresses for another process with the id of a member, until
// one answers. Boot 0: none does.
func (m *Membership) firstToAnswer(ctx context.Context, at Member, addrs []string) Member {
	for _, addr := range addrs {
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

// askDuplicate asks whether a process with this node's id answers where gossip shows
// one. Gossip may show a boot of this node that ended long ago.
func (l *loop) askDuplicate(ctx context.Context, at Member) {
	if l.asking {
		return // gossip will repeat it
	}
	l.asking = true
	l.calls.Go(func() {
		select {
		case l.duplicates <- l.m.firstToAnswer(ctx, at, callable(at)):
		case <-ctx.Done():
		}
	})
}

// callable lists where calls may reach a node: its RPC address, and, since a name in that
// may lead elsewhere by now, the RPC port at its gossip address.
func callable(m Member) []string {
	out := []string{m.RPC}
	rpc, err := gossip.ParseAddress(m.RPC)
	at, err2 := gossip.ParseAddress(m.Gossip)
	if err != nil || err2 != nil || rpc.Host == at.Host {
		return out
	}
	return append(out, gossip.Address{Host: at.Host, Port: rpc.Port}.String())
}

// onDuplicate ends this process when another one has its id and answers, unless the other
// one is the copy.
func (l *loop) onDuplicate(other Member) error {
	l.asking = false
	me := l.m.self
	if other.Boot == 0 || other.Boot > me.Boot {
		return nil
	}
	if v := l.m.core.View(); v != nil && slices.ContainsFunc(v.Members, func(m Member) bool {
		return m.ID == me.ID && m.Boot == me.Boot && m.RPC == me.RPC
	}) {
		return nil
	}
	return duplicateError(other)
}

// duplicateError ends a process whose id another one has that answers.
func duplicateError(other Member) error {
	return fmt.Errorf("%w: node %s answers at %s; its data directory was copied, or moved while it runs: stop one of the two, or start this one with an empty --data-dir", ErrDuplicate, other.ID, other.RPC)
}

// superseded ends a process when a view lists a later start of its id, or gives its boot
// to another process, which was started from the same data.
func superseded(v *View, me Member) error {
	if v == nil {
		return nil
	}
	m, ok := v.Member(me.ID)
	var unknown consensus.Process // where the system does not tell
	switch {
	case !ok:
		return nil
	case m.Boot > me.Boot:
		return fmt.Errorf("%w: a later start of node %s is a member, at %s (boot %d, this is %d); the data directory was copied, or is an old copy: this one cannot be used again", ErrDuplicate, me.ID, m.RPC, m.Boot, me.Boot)
	case m.Boot == me.Boot && m.Process != me.Process && m.Process != unknown && me.Process != unknown:
		return fmt.Errorf("%w: another process with the data of node %s is a member, at %s (both are boot %d); the data directory was copied: stop one of the two, or start this one with an empty --data-dir", ErrDuplicate, me.ID, m.RPC, me.Boot)
	}
	return nil
}
