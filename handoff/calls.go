package handoff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"crawlnode/crawl"
	"crawlnode/handoff/copies"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/wire"
)

// errEnded is returned to callers when the driver has ended.
var errEnded = errors.New("handoff: this node is ending")

// call makes one call and reads the answer into reply, unless that is nil.
func (d *Driver) call(ctx context.Context, to crawl.NodeID, kind string, body, reply any) error {
	return d.callEncoded(ctx, to, kind, d.encodeCall(kind, body), reply)
}

// encodeCall encodes a call, for one node or for many.
func (d *Driver) encodeCall(kind string, body any) []byte {
	raw, err := json.Marshal(body)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	payload, err := json.Marshal(wire.Envelope{Kind: kind, Boot: d.opts.Boot, Body: raw})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return payload
}

// callEncoded makes a call of encodeCall. It only reads the payload.
func (d *Driver) callEncoded(
	ctx context.Context,
	to crawl.NodeID,
	kind string,
	payload []byte,
	reply any,
) error {
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
func (d *Driver) HandleCall(
	ctx context.Context,
	from crawl.NodeID,
	payload []byte,
) ([]byte, error) {
	var e wire.Envelope
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, fmt.Errorf("handoff: not a call: %w", err)
	}
	var reply any
	var err error
	switch e.Kind {
	case wire.CallToken:
		reply, err = d.onToken(ctx, e.Body)
	case wire.CallAsk:
		reply, err = d.onAsk(ctx, e.Body)
	case wire.CallWhere:
		reply, err = d.copies.Where(copies.Sender{ID: from, Boot: e.Boot}, e.Body)
	case wire.CallUseless:
		reply, err = d.onUseless(ctx, from, e.Body)
	default:
		err = d.gate.Pass(from, e.Boot, func() error {
			reply, err = d.change(ctx, copies.Sender{ID: from, Boot: e.Boot}, &e)
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

// check refuses partitions that the cluster does not have.
func (d *Driver) check(ps ...crawl.Partition) error {
	return wire.CheckPartitions(d.opts.Partitions, ps...)
}

func (d *Driver) onAsk(ctx context.Context, body json.RawMessage) (wire.AskReply, error) {
	var q wire.Ask
	if err := errors.Join(wire.Decode(body, &q), d.check(q.Parts...)); err != nil {
		return wire.AskReply{}, err
	}
	told, err := d.answer(ctx, q)
	return wire.AskReply(told), err
}

func (d *Driver) onToken(ctx context.Context, body json.RawMessage) (machine.Reply, error) {
	var t wire.Token
	if err := errors.Join(wire.Decode(body, &t), d.check(t.P)); err != nil {
		return machine.Reply{}, err
	}
	reply := make(chan machine.Reply, 1)
	e := machine.TokenArrived{P: t.P, View: t.View, Epoch: t.Epoch, Seq: t.Seq, Set: t.Set,
		Reply: reply}
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

// change carries out a call that changes something here; the gate is passed.
func (d *Driver) change(ctx context.Context, from copies.Sender, e *wire.Envelope) (any, error) {
	switch e.Kind {
	case wire.CallRecord:
		return d.onRecord(ctx, e.Body)
	case wire.CallAdopt:
		return d.copies.Adopt(ctx, from, e.Body)
	case wire.CallDrop:
		return nil, d.copies.Drop(ctx, from, e.Body)
	case wire.CallSend:
		var q wire.Send
		if err := errors.Join(wire.Decode(e.Body, &q), d.check(q.Parts...)); err != nil {
			return nil, err
		}
		d.replicas.Send(from.ID, q.Parts)
		return nil, nil
	}
	return nil, fmt.Errorf("handoff: unknown call %q", e.Kind)
}

// onRecord stores sets, unless this node has installed a newer view than the
// holder: then other members may be asking for the partition already.
func (d *Driver) onRecord(ctx context.Context, body json.RawMessage) (any, error) {
	var q wire.Record
	if err := wire.Decode(body, &q); err != nil {
		return nil, err
	}
	if own := d.gate.installed(); q.View < own {
		return nil, fmt.Errorf("handoff: the sets are of view %d, this node is at %d", q.View, own)
	}
	sets := make(map[crawl.Partition]Set, len(q.Sets))
	for _, s := range q.Sets {
		if err := d.check(s.P); err != nil {
			return nil, err
		}
		if len(s.Set.Members) == 0 || len(s.Set.Members) > maxSet || !slices.IsSorted(s.Set.Members) {
			return nil, fmt.Errorf(
				"handoff: the set of partition %d has %d members, or is not sorted", s.P,
				len(s.Set.Members))
		}
		sets[s.P] = s.Set
	}
	if err := d.opts.Store.PutSets(ctx, sets); err != nil {
		return nil, err
	}
	var r wire.RecordReply
	for p, s := range sets {
		if !d.opts.Store.Set(p).Newer(s) {
			r.Stored = append(r.Stored, p)
			d.hints.InSync(p, s)
		}
	}
	return r, nil
}

// maxSet bounds an in-sync set: holder, owner to be, and old and new replicas.
const maxSet = 16

// onUseless answers, as the holder, which of the caller's copies may go.
func (d *Driver) onUseless(
	ctx context.Context,
	from crawl.NodeID,
	body json.RawMessage,
) (wire.UselessReply, error) {
	var q wire.Useless
	if err := wire.Decode(body, &q); err != nil {
		return wire.UselessReply{}, err
	}
	for _, x := range q.Parts {
		if err := d.check(x.P); err != nil {
			return wire.UselessReply{}, err
		}
	}
	reply := make(chan []crawl.Partition, 1)
	if !d.post(ctx, machine.UselessAsked{From: from, View: q.View, Parts: q.Parts, Reply: reply}) {
		return wire.UselessReply{}, errEnded
	}
	select {
	case ps := <-reply:
		return wire.UselessReply{Drop: ps}, nil
	case <-d.done:
		return wire.UselessReply{}, errEnded
	case <-ctx.Done():
		return wire.UselessReply{}, ctx.Err()
	}
}
