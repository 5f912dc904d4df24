package layout

import (
	"encoding/binary"
	"math"
	"time"

	"crawlnode/crawl"
)

// The keys. A partition's keys begin with its number and its generation, so a
// partition is one range, and a range that is being deleted never touches the
// same partition acquired anew. Numbers are big endian, for the order.
//
//	partition (2) generation (4) table (1) ...
//
//	u  host 00 fingerprint (16)      record of a URL
//	q  host 00 band (1) seq (8)      URL waiting for a fetch, or some, see block.go
//	h  host                          state of a host; its only URL, see inline.go
//	r  host 00 origin                robots.txt of an origin of the host
//	w  band (1) time (8) host        wake index: hosts with queued URLs
//	o  target (2) seq (8)            link waiting for the target's owner
//	c  digest (20)                   first capture of a payload; see contents.go
//	d  time (8) host 00 fingerprint (16)  planned page; see due.go
//	t, y, l                          documents for the index, texts of links; see texts.go
//	g                                what clients of the URLFrontier protocol say; see guests.go
//	m                                sequence number and counters; newer ones may stand in a slot, see books.go
//
// A host has no zero byte. The partition 0xffff is not one: under it, with
// generation 0, the node keeps what does not travel with a partition.
//
//	v                                version of the format
//	p  partition (2)                 state of the partition on this node
//	x  partition (2) generation (4)  generation to be deleted
//	i  partition (2)                 recorded in-sync set of the partition
//	b  slot (1)                      books of the partitions that a commit has changed; see books.go
const (
	TableRecords  = 'u'
	TableQueue    = 'q'
	TableHosts    = 'h'
	TableRobots   = 'r'
	TableWake     = 'w'
	TableOutbox   = 'o'
	TableContents = 'c'
	TableDue      = 'd'
	TableMeta     = 'm'

	NodePartition crawl.Partition = math.MaxUint16
	NodeVersion                   = 'v'
	NodeStates                    = 'p'
	NodeDead                      = 'x'
	NodeSets                      = 'i'
	NodeBooks                     = 'b'
)

// MaxPartition is the highest number that a partition may have.
const MaxPartition crawl.Partition = NodePartition - 1

// PrefixLen is the length of partition and generation in front of each key.
// What follows is the relative key, which means the same on every node.
const PrefixLen = 6

// AppendPrefix appends what all keys of a generation begin with.
func AppendPrefix(b []byte, p crawl.Partition, gen uint32) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(p))
	return binary.BigEndian.AppendUint32(b, gen)
}

// AppendHost appends the relative key of a host in the table of hosts, or what all keys of a
// host begin with in another table.
func AppendHost(b []byte, table byte, h crawl.Host) []byte {
	return append(append(b, table), h...)
}

// AppendRecordKey appends the relative key of a record.
func AppendRecordKey(b []byte, h crawl.Host, fp Fingerprint) []byte {
	b = append(AppendHost(b, TableRecords, h), 0)
	return append(b, fp[:]...)
}

// AppendQueueKey appends the relative key of a place in a host's queue.
func AppendQueueKey(b []byte, h crawl.Host, band crawl.Band, seq uint64) []byte {
	b = append(AppendHost(b, TableQueue, h), 0, byte(band))
	return binary.BigEndian.AppendUint64(b, seq)
}

// AppendRobotsKey appends the relative key of a robots entry.
func AppendRobotsKey(b []byte, h crawl.Host, tag string) []byte {
	b = append(AppendHost(b, TableRobots, h), 0)
	return append(b, tag...)
}

// AppendCookiesKey appends the relative key of a host's cookies, in the form of package
// web/cookies: beside its robots entries, whose tags begin with other letters (OriginTag).
func AppendCookiesKey(b []byte, h crawl.Host) []byte { return AppendRobotsKey(b, h, "c") }

// AppendWakeKey appends the relative key of a host's place in the wake index.
func AppendWakeKey(b []byte, w WakeSlot, h crawl.Host) []byte {
	b = append(b, TableWake, byte(w.Band))
	b = binary.BigEndian.AppendUint64(b, w.ms)
	return append(b, h...)
}

// AppendOutboxKey appends the relative key of a waiting link.
func AppendOutboxKey(b []byte, k OutboxKey) []byte {
	b = binary.BigEndian.AppendUint16(append(b, TableOutbox), uint16(k.Target))
	return binary.BigEndian.AppendUint64(b, k.Seq)
}

// AppendContentKey appends the relative key of a payload.
func AppendContentKey(b []byte, d crawl.Digest) []byte {
	return append(append(b, TableContents), d[:]...)
}

// NodeKey is an absolute key of the node's own range.
func NodeKey(table byte, rest ...byte) []byte {
	return append(append(AppendPrefix(nil, NodePartition, 0), table), rest...)
}

// StateKey is the absolute key of a partition's state on this node.
func StateKey(p crawl.Partition) []byte {
	return NodeKey(NodeStates, binary.BigEndian.AppendUint16(nil, uint16(p))...)
}

// SetKey is the absolute key of a partition's recorded in-sync set.
func SetKey(p crawl.Partition) []byte {
	return NodeKey(NodeSets, binary.BigEndian.AppendUint16(nil, uint16(p))...)
}

// DeadKey is the absolute key of a generation on the list of those to be deleted.
func DeadKey(g Generation) []byte {
	return NodeKey(NodeDead, AppendPrefix(nil, g.Partition, g.Number)...)
}

// Generation names one copy of a partition in the store of this node.
type Generation struct {
	Partition crawl.Partition
	Number    uint32
}

// SeqOfQueueKey reads the sequence number at the end of a queue key.
func SeqOfQueueKey(key []byte) (uint64, bool) {
	if len(key) < 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(key[len(key)-8:]), true
}

// FingerprintOfKey reads the fingerprint at the end of a record key.
func FingerprintOfKey(key []byte) (fp Fingerprint, ok bool) {
	if len(key) < PrefixLen+1+len(fp) {
		return fp, false
	}
	copy(fp[:], key[len(key)-len(fp):])
	return fp, true
}

// ParseRecordKey reads the relative key of a record.
func ParseRecordKey(rel []byte) (h crawl.Host, fp Fingerprint, ok bool) {
	host := len(rel) - len(fp) - 2
	if host < 1 || rel[0] != TableRecords || rel[1+host] != 0 {
		return "", fp, false
	}
	copy(fp[:], rel[2+host:])
	return crawl.Host(rel[1 : 1+host]), fp, true
}

// WakeSlot is a host's position in the wake index.
type WakeSlot struct {
	Band crawl.Band
	ms   uint64 // on the partition's timeline in milliseconds, rounded up; 0: at once
}

// WakeOf is the place of a host whose best queued band is band.
func WakeOf(band crawl.Band, s *crawl.HostState) WakeSlot {
	at := crawl.Latest(crawl.Latest(s.NotBefore, s.BlockedUntil),
		crawl.Latest(s.FrozenUntil, s.HoldUntil))
	if at.IsZero() || at.UnixMilli() < 0 {
		return WakeSlot{Band: band}
	}
	return WakeSlot{Band: band, ms: uint64(at.Add(time.Millisecond - 1).UnixMilli())}
}

// Time is the time of the place on the partition's timeline; zero: at once.
func (w WakeSlot) Time() time.Time {
	if w.ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(min(w.ms, math.MaxInt64))).UTC()
}

// ParseWakeKey reads a relative wake key.
func ParseWakeKey(rel []byte) (w WakeSlot, h crawl.Host, ok bool) {
	if len(rel) < 10 || rel[0] != TableWake || rel[1] >= crawl.Bands {
		return WakeSlot{}, "", false
	}
	w = WakeSlot{Band: crawl.Band(rel[1]), ms: binary.BigEndian.Uint64(rel[2:])}
	return w, crawl.Host(rel[10:]), true
}

// ParseOutboxKey reads a relative outbox key.
func ParseOutboxKey(rel []byte) (OutboxKey, bool) {
	if len(rel) != 11 || rel[0] != TableOutbox {
		return OutboxKey{}, false
	}
	return OutboxKey{
		Target: crawl.Partition(binary.BigEndian.Uint16(rel[1:])),
		Seq:    binary.BigEndian.Uint64(rel[3:]),
	}, true
}

// MetaKey is the relative key of a partition's sequence number and counters.
const MetaKey = string(TableMeta)

// IsMeta reports whether a relative key is that of sequence and counters.
func IsMeta(rel []byte) bool { return string(rel) == MetaKey }

// OutboxKey names a waiting link within the partition of its page. Keys are in
// the order of the target partition, then of age.
type OutboxKey struct {
	Target crawl.Partition
	Seq    uint64 // from 1
}
