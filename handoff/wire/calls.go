package wire

import (
	"encoding/json"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// The calls between drivers. Their bodies are JSON: they are few, each for many
// partitions. What is sent for every page goes over streams (frames.go).
const (
	CallToken   = "token"   // Token -> machine.Reply: be the holder
	CallAsk     = "ask"     // Ask -> AskReply: who holds these?
	CallRecord  = "record"  // Record -> RecordReply: store these in-sync sets
	CallWhere   = "where"   // Where -> WhereReply: what copies are there?
	CallAdopt   = "adopt"   // Adopt -> AdoptReply: go on under a new tenure
	CallDrop    = "drop"    // Drop: these copies are not needed any more
	CallSend    = "send"    // Send: send me your copies
	CallUseless = "useless" // Useless -> UselessReply: which of my copies may go?
)

// Envelope is one call: its kind, its body, and the boot of the node that calls.
type Envelope struct {
	Kind string          `json:"kind"`
	Boot crawl.Boot      `json:"boot"`
	Body json.RawMessage `json:"body"`
}

// Token offers the authority over a partition.
type Token struct {
	P     crawl.Partition `json:"p"`
	View  crawl.Epoch     `json:"view"`
	Epoch crawl.Epoch     `json:"epoch"`
	Seq   crawl.Seq       `json:"seq"`
	Set   machine.Set     `json:"set"`
}

// Ask asks who holds partitions, by a view.
type Ask struct {
	View  crawl.Epoch       `json:"view"`
	Parts []crawl.Partition `json:"parts"`
}

// AskReply answers Ask.
type AskReply struct {
	Answers []machine.Answer   `json:"answers"` // null: at another view
	Past    []machine.PastView `json:"past"`
}

// PartSet is the in-sync set of a partition.
type PartSet struct {
	P   crawl.Partition `json:"p"`
	Set machine.Set     `json:"set"`
}

// Record has in-sync sets stored.
type Record struct {
	View crawl.Epoch `json:"view"`
	Sets []PartSet   `json:"sets"`
}

// RecordReply names the partitions whose sets, or newer ones, are stored.
type RecordReply struct {
	Stored []crawl.Partition `json:"stored"`
}

// WherePart names a link by its attempt, so that an older order to drop the copy
// is known as such when it comes late.
type WherePart struct {
	P       crawl.Partition `json:"p"`
	Attempt uint64          `json:"attempt"`
}

// Where asks what copies the other node has.
type Where struct {
	Parts []WherePart `json:"parts"`
}

// WhereReply has one answer for each part of Where, in its order.
type WhereReply struct {
	Copies []machine.Answer `json:"copies"`
}

// AdoptPart is a copy at (From, Seq) that goes on under the tenure Epoch.
type AdoptPart struct {
	P     crawl.Partition `json:"p"`
	From  crawl.Epoch     `json:"from"`
	Seq   crawl.Seq       `json:"seq"`
	Epoch crawl.Epoch     `json:"epoch"`
	// Attempt names the link.
	Attempt uint64 `json:"attempt"`
}

// Adopt lets copies go on under a new tenure.
type Adopt struct {
	Parts []AdoptPart `json:"parts"`
}

// AdoptReply names the partitions whose copies were adopted.
type AdoptReply struct {
	Adopted []crawl.Partition `json:"adopted"`
}

// DropPart is a copy that its holder does not need any more.
type DropPart struct {
	P       crawl.Partition `json:"p"`
	Epoch   crawl.Epoch     `json:"epoch"`
	Attempt uint64          `json:"attempt"` // above those of the links before it
}

// Drop has copies deleted.
type Drop struct {
	Parts []DropPart `json:"parts"`
}

// Send asks for copies.
type Send struct {
	Parts []crawl.Partition `json:"parts"`
}

// Useless asks the owner which of the caller's copies may be deleted.
type Useless struct {
	View  crawl.Epoch           `json:"view"`
	Parts []machine.UselessPart `json:"parts"`
}

// UselessReply names the copies that may be deleted.
type UselessReply struct {
	Drop []crawl.Partition `json:"drop"`
}

// Decode reads the body of a call.
func Decode(body json.RawMessage, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("handoff: the body of a call: %w", err)
	}
	return nil
}

// CheckPartitions refuses partitions that a cluster with that many does not have.
func CheckPartitions(partitions int, ps ...crawl.Partition) error {
	for _, p := range ps {
		if int(p) >= partitions {
			return fmt.Errorf("handoff: there is no partition %d of %d", p, partitions)
		}
	}
	return nil
}
