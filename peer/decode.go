package peer

import (
	"bytes"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// unmarshal is proto.Unmarshal. Messages of which a page needs some are read here: all their parts are in one piece of memory,
// and their strings in another. A part that is not known, or not as it should be, leaves the message to package proto.
//
// A string that is kept keeps the strings of its whole message.
func unmarshal(raw []byte, into proto.Message) error {
	ok := false
	switch m := into.(type) {
	case *LinkBatch:
		ok = readLinkBatch(raw, m)
	case *ContentBatch:
		ok = readContentBatch(raw, m)
	case *ContentReply:
		ok = readContentReply(raw, m)
	}
	if ok {
		return nil
	}
	return proto.Unmarshal(raw, into)
}

// fields reads the fields of a message, or of a part of it, one after the other.
type fields struct {
	raw     []byte // of the whole message
	at, end int
	text    *string // copy of raw, made when a string is in it
	own     *[]byte // the same for bytes

	number   protowire.Number
	kind     protowire.Type
	value    uint64 // of a number
	from, to int    // of bytes
	bad      bool   // broken, or of a type that no message here has
}

// whole reads a whole message.
func whole(raw []byte) fields {
	return fields{raw: raw, end: len(raw), text: new(string), own: new([]byte)}
}

// part reads the message in the current field.
func (f *fields) part() fields {
	return fields{raw: f.raw, at: f.from, end: f.to, text: f.text, own: f.own, bad: f.kind != protowire.BytesType}
}

// next goes to the next field; false: there is none, or f is bad.
func (f *fields) next() bool {
	if f.at >= f.end || f.bad {
		return false
	}
	number, kind, n := protowire.ConsumeTag(f.raw[f.at:f.end])
	if n < 0 {
		f.bad = true
		return false
	}
	f.at += n
	f.number, f.kind = number, kind
	switch rest := f.raw[f.at:f.end]; kind {
	case protowire.VarintType:
		f.value, n = protowire.ConsumeVarint(rest)
	case protowire.Fixed64Type:
		f.value, n = protowire.ConsumeFixed64(rest)
	case protowire.BytesType:
		var v []byte
		v, n = protowire.ConsumeBytes(rest)
		f.to = f.at + n
		f.from = f.to - len(v)
	default:
		n = -1
	}
	f.at += n
	f.bad = n < 0
	return !f.bad
}

// is requires the type of the current field.
func (f *fields) is(kind protowire.Type) { f.bad = f.bad || f.kind != kind }

func (f *fields) u64() uint64 { f.is(protowire.VarintType); return f.value }

func (f *fields) u32() uint32 { return uint32(f.u64()) }

func (f *fields) flag() bool { return f.u64() != 0 }

func (f *fields) fixed() uint64 { f.is(protowire.Fixed64Type); return f.value }

func (f *fields) str() string {
	if f.is(protowire.BytesType); f.bad || f.from == f.to {
		return ""
	}
	if *f.text == "" {
		*f.text = string(f.raw)
	}
	s := (*f.text)[f.from:f.to]
	f.bad = !utf8.ValidString(s)
	return s
}

func (f *fields) bytes() []byte {
	if f.is(protowire.BytesType); f.bad || f.from == f.to {
		return nil
	}
	if *f.own == nil {
		*f.own = bytes.Clone(f.raw)
	}
	return (*f.own)[f.from:f.to:f.to]
}

// count counts the fields with a number.
func count(raw []byte, number protowire.Number) (n int) {
	for f := whole(raw); f.next(); {
		if f.number == number {
			n++
		}
	}
	return n
}

func readLinkBatch(raw []byte, m *LinkBatch) bool {
	f := whole(raw)
	n := count(raw, 2)
	links, places := make([]Link, n), make([]*Link, 0, n)
	var id uint64
	var rules *RulesStamp
	for f.next() {
		switch f.number {
		case 1:
			id = f.u64()
		case 2:
			l := &links[len(places)]
			places = append(places, l)
			if !readLink(f.part(), l) {
				return false
			}
		case 3:
			if f.is(protowire.BytesType); f.bad || rules != nil {
				return false
			}
			rules = &RulesStamp{}
			if proto.Unmarshal(raw[f.from:f.to], rules) != nil {
				return false
			}
		default:
			return false
		}
	}
	if f.bad {
		return false
	}
	proto.Reset(m)
	m.Id, m.Links, m.Rules = id, places, rules
	return true
}

func readLink(f fields, l *Link) bool {
	for f.next() {
		switch f.number {
		case 1:
			l.Url = f.str()
		case 2:
			l.Partition = f.u32()
		case 3:
			l.Depth = f.u32()
		case 4:
			l.Band = f.u32()
		case 5:
			l.Hops = f.u32()
		case 6:
			l.Via = f.u32()
		case 7:
			l.Again = f.flag()
		case 8:
			l.Suspicious = f.flag()
		case 9:
			l.ClaimedNs = int64(f.u64())
		case 10:
			l.From = f.str()
		case 11:
			l.Anchor = f.str()
		default:
			return false
		}
	}
	return !f.bad
}

func readContentBatch(raw []byte, m *ContentBatch) bool {
	f := whole(raw)
	nq, nn := count(raw, 1), count(raw, 2)
	questions, asked := make([]ContentQuestion, nq), make([]*ContentQuestion, 0, nq)
	notes, noted := make([]ContentNote, nn), make([]*ContentNote, 0, nn)
	wait := false
	for f.next() {
		switch f.number {
		case 1:
			q := &questions[len(asked)]
			asked = append(asked, q)
			if !readContentQuestion(f.part(), q) {
				return false
			}
		case 2:
			note := &notes[len(noted)]
			noted = append(noted, note)
			if !readContentNote(f.part(), note) {
				return false
			}
		case 3:
			wait = f.flag()
		default:
			return false
		}
	}
	if f.bad {
		return false
	}
	proto.Reset(m)
	m.Questions, m.Notes, m.Wait = asked, noted, wait
	return true
}

func readContentQuestion(f fields, q *ContentQuestion) bool {
	for f.next() {
		switch f.number {
		case 1:
			q.Url = f.str()
		case 2:
			q.Digest = f.bytes()
		case 3:
			q.Partition = f.u32()
		case 4:
			q.Simhash = f.fixed()
		default:
			return false
		}
	}
	return !f.bad
}

func readContentNote(f fields, n *ContentNote) bool {
	for f.next() {
		switch f.number {
		case 1:
			n.Digest = f.bytes()
		case 2:
			n.Partition = f.u32()
		case 3:
			n.Record = f.bytes()
		case 4:
			n.Url = f.str()
		case 5:
			n.FetchedAtNs = int64(f.u64())
		default:
			return false
		}
	}
	return !f.bad
}

func readContentReply(raw []byte, m *ContentReply) bool {
	f := whole(raw)
	n := count(raw, 1)
	answers, places := make([]ContentAnswer, n), make([]*ContentAnswer, 0, n)
	for f.next() {
		if f.number != 1 {
			return false
		}
		a := &answers[len(places)]
		places = append(places, a)
		if !readContentAnswer(f.part(), a) {
			return false
		}
	}
	if f.bad {
		return false
	}
	proto.Reset(m)
	m.Answers = places
	return true
}

func readContentAnswer(f fields, a *ContentAnswer) bool {
	for f.next() {
		switch f.number {
		case 1:
			a.Verdict = ContentVerdict(f.u64())
		case 2:
			a.Record = f.bytes()
		case 3:
			a.Url = f.str()
		case 4:
			a.FetchedAtNs = int64(f.u64())
		case 5:
			a.NearUrl = f.str()
		case 6:
			a.NearDistance = f.u32()
		default:
			return false
		}
	}
	return !f.bad
}
