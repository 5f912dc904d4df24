package handoff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// errEnded is what a caller hears when the driver has ended.
var errEnded = errors.New("handoff: this node is ending")

// The calls between drivers. Their bodies are JSON: they are few, each for many
// partitions. What is sent for every page goes over streams (wire.go).
const (
	callToken   = "token"   // tokenCall -> Reply
	callAsk     = "ask"     // askCall -> askReply
	callRecord  = "record"  // recordCall -> recordReply
	callWhere   = "where"   // whereCall -> whereReply: what copies are there?
	callAdopt   = "adopt"   // adoptCall -> adoptReply: go on under a new tenure
	callDrop    = "drop"    // dropCall: these copies are not needed any more
	callSend    = "send"    // sendCall: send me your copies
	callUseless = "useless" // uselessCall -> uselessReply: which of my copies may go?
)

// envelope is one call: who calls, by which boot, and what.
type envelope struct {
	Kind string          `json:"kind"`
	Boot crawl.Boot      `json:"boot"`
	Body json.RawMessage `json:"body"`
}

type tokenCall struct {
	P     crawl.Partition `json:"p"`
	View  crawl.Epoch     `json:"view"`
	Epoch crawl.Epoch     `json:"epoch"`
	Seq   crawl.Seq       `json:"seq"`
	Set   Set             `json:"set"`
}

type askCall struct {
	View  crawl.Epoch       `json:"view"`
	Parts []crawl.Partition `json:"parts"`
}

type askReply struct {
	Answers []machine.Answer   `json:"answers"` // null: at another view
	Past    []machine.PastView `json:"past"`
}

type partSet struct {
	P   crawl.Partition `json:"p"`
	Set Set             `json:"set"`
}

type recordCall struct {
	View crawl.Epoch `json:"view"`
	Sets []partSet   `json:"sets"`
}

type recordReply struct {
	Stored []crawl.Partition `json:"stored"`
}

// wherePart names a link by its attempt, so that an older word to drop the copy
// that comes late is known as such.
type wherePart struct {
	P       crawl.Partition `json:"p"`
	Attempt uint64          `json:"attempt"`
}

type whereCall struct {
	Parts []wherePart `json:"parts"`
}

type whereReply struct {
	Copies []machine.Answer `json:"copies"`
}

type adoptPart struct {
	P     crawl.Partition `json:"p"`
	From  crawl.Epoch     `json:"from"`
	Seq   crawl.Seq       `json:"seq"`
	Epoch crawl.Epoch     `json:"epoch"`
	// Attempt names the link.
	Attempt uint64 `json:"attempt"`
}

type adoptCall struct {
	Parts []adoptPart `json:"parts"`
}

type adoptReply struct {
	Adopted []crawl.Partition `json:"adopted"`
}

type dropPart struct {
	P       crawl.Partition `json:"p"`
	Epoch   crawl.Epoch     `json:"epoch"`
	Attempt uint64          `json:"attempt"` // above those of the links before it
}

type dropCall struct {
	Parts []dropPart `json:"parts"`
}

type sendCall struct {
	Parts []crawl.Partition `json:"parts"`
}

// call makes one call and reads the answer into reply, unless that is nil.
func (d *Driver) call(ctx context.Context, to crawl.NodeID, kind string, body, reply any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	payload, err := json.Marshal(envelope{Kind: kind, Boot: d.opts.Boot, Body: raw})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	answer, err := d.opts.Transport.Call(ctx, to, payload)
	if err != nil {
		return fmt.Errorf("handoff: %s to %s: %w", kind, to, err)
	}
	if reply == nil {
		return nil
	}
	if err := json.Unmarshal(answer, reply); err != nil {
		return fmt.Errorf("handoff: %s: the answer of %s: %w", kind, to, err)
	}
	return nil
}

// HandleCall answers another node's call. The error is for that node.
func (d *Driver) HandleCall(ctx context.Context, from crawl.NodeID, payload []byte) ([]byte, error) {
	var e envelope
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, fmt.Errorf("handoff: not a call: %w", err)
	}
	var reply any
	var err error
	switch e.Kind {
	case callToken:
		reply, err = d.onTokenCall(ctx, e.Body)
	case callAsk:
		var q askCall
		if err = decode(e.Body, &q); err == nil {
			err = d.checkParts(q.Parts...)
		}
		if err == nil {
			var told machine.Told
			told, err = d.answer(ctx, q)
			reply = askReply(told)
		}
	case callWhere:
		reply, err = d.onWhere(linkFrom{from, e.Boot}, e.Body)
	case callUseless:
		reply, err = d.onUseless(ctx, from, e.Body)
	default:
		err = d.gate.pass(from, e.Boot, func() error {
			reply, err = d.change(ctx, linkFrom{from, e.Boot}, &e)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	answer, err := json.Marshal(reply)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return answer, nil
}

func decode(body json.RawMessage, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("handoff: the body of a call: %w", err)
	}
	return nil
}

func (d *Driver) checkParts(ps ...crawl.Partition) error {
	for _, p := range ps {
		if int(p) >= d.opts.Partitions {
			return fmt.Errorf("handoff: there is no partition %d of %d", p, d.opts.Partitions)
		}
	}
	return nil
}

func (d *Driver) onTokenCall(ctx context.Context, body json.RawMessage) (machine.Reply, error) {
	var t tokenCall
	if err := errors.Join(decode(body, &t), d.checkParts(t.P)); err != nil {
		return machine.Reply{}, err
	}
	reply := make(chan machine.Reply, 1)
	e := machine.TokenArrived{P: t.P, View: t.View, Epoch: t.Epoch, Seq: t.Seq, Set: t.Set, Reply: reply}
	if !d.post(ctx, e) {
		return machine.Reply{}, errEnded
	}
	select {
	case r := <-reply:
		return r, nil
	case <-d.done:
		return machine.Reply{}, errEnded
	}
}

func (d *Driver) onWhere(from linkFrom, body json.RawMessage) (whereReply, error) {
	var q whereCall
	if err := decode(body, &q); err != nil {
		return whereReply{}, err
	}
	var r whereReply
	for _, w := range q.Parts {
		if err := d.checkParts(w.P); err != nil {
			return whereReply{}, err
		}
		d.marks.note(w.P, from, w.Attempt)
		k := d.opts.Store.Kept(w.P)
		r.Copies = append(r.Copies, machine.Answer{P: w.P, Holds: k.State == Holding, Copy: k.Copy, Suspect: k.Suspect, Epoch: k.Epoch, Seq: k.Seq})
	}
	return r, nil
}

// change carries out a call that changes something here; the gate is passed.
func (d *Driver) change(ctx context.Context, from linkFrom, e *envelope) (any, error) {
	switch e.Kind {
	case callRecord:
		return d.onRecord(ctx, e.Body)
	case callAdopt:
		return d.onAdopt(ctx, from, e.Body)
	case callDrop:
		return nil, d.onDrop(ctx, from, e.Body)
	case callSend:
		var q sendCall
		if err := errors.Join(decode(e.Body, &q), d.checkParts(q.Parts...)); err != nil {
			return nil, err
		}
		d.peers.send(from.id, q.Parts)
		return nil, nil
	}
	return nil, fmt.Errorf("handoff: unknown call %q", e.Kind)
}

// onRecord stores sets, unless this node has installed a newer view than the
// holder: then others may be asking for the partition already.
func (d *Driver) onRecord(ctx context.Context, body json.RawMessage) (any, error) {
	var q recordCall
	if err := decode(body, &q); err != nil {
		return nil, err
	}
	if own := d.gate.installed(); q.View < own {
		return nil, fmt.Errorf("handoff: the sets are of view %d, this node is at %d", q.View, own)
	}
	sets := make(map[crawl.Partition]Set, len(q.Sets))
	for _, s := range q.Sets {
		if err := d.checkParts(s.P); err != nil {
			return nil, err
		}
		if len(s.Set.Members) == 0 || len(s.Set.Members) > maxSet || !slices.IsSorted(s.Set.Members) {
			return nil, fmt.Errorf("handoff: the set of partition %d has %d members, or is not sorted", s.P, len(s.Set.Members))
		}
		sets[s.P] = s.Set
	}
	if err := d.opts.Store.PutSets(ctx, sets); err != nil {
		return nil, err
	}
	var r recordReply
	for p, s := range sets {
		if !d.opts.Store.Set(p).Newer(s) {
			r.Stored = append(r.Stored, p)
		}
	}
	return r, nil
}

// maxSet bounds an in-sync set: holder, owner to be, and old and new replicas.
const maxSet = 16

func (d *Driver) onAdopt(ctx context.Context, from linkFrom, body json.RawMessage) (any, error) {
	var q adoptCall
	if err := decode(body, &q); err != nil {
		return nil, err
	}
	var r adoptReply
	for _, a := range q.Parts {
		if err := d.checkParts(a.P); err != nil {
			return nil, err
		}
		if err := d.gate.right(from.id, a.Epoch); err != nil {
			return nil, err
		}
		d.marks.note(a.P, from, a.Attempt)
		d.marks.alone(a.P, func() {
			d.arrived(ctx, a.P, a.Epoch)
			if d.opts.Store.AdoptCopy(ctx, a.P, a.From, a.Seq, a.Epoch) == nil {
				r.Adopted = append(r.Adopted, a.P)
			}
		})
	}
	return r, nil
}

// arrived makes a release a mere copy, when that is what is here: who sends
// copies of a later tenure has taken it. The machine hears of it a moment later;
// nobody may wait for it here, because it may wait for the gate.
func (d *Driver) arrived(ctx context.Context, p crawl.Partition, epoch crawl.Epoch) {
	k := d.opts.Store.Kept(p)
	if k.State != Released || epoch <= k.Epoch {
		return
	}
	// The word "took" may still be on its way; it makes the copy, too.
	if err := d.opts.Store.StoreCopy(ctx, p, k.Suspect); err != nil {
		return
	}
	d.arrivedMu.Lock()
	d.arrivals[p] = max(d.arrivals[p], epoch)
	d.arrivedMu.Unlock()
	signal(d.came)
}
