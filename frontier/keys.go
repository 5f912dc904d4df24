package frontier

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
//	q  host 00 band (1) seq (8)      URL waiting for a fetch
//	h  host                          state of a host; its only URL, see sole.go
//	r  host 00 origin                robots.txt of an origin of the host
//	w  band (1) time (8) host        wake index: hosts with queued URLs
//	o  target (2) seq (8)            link waiting for the target's owner
//	c  digest (20)                   first capture of a payload; see contents.go
//	m                                sequence number and counters
//
// A host has no zero byte. The partition 0xffff is not one: under it, with
// generation 0, the node keeps what does not travel with a partition.
//
//	v                                version of the format
//	p  partition (2)                 state of the partition on this node
//	x  partition (2) generation (4)  generation to be deleted
//	i  partition (2)                 recorded in-sync set of the partition
const (
	tableRecords  = 'u'
	tableQueue    = 'q'
	tableHosts    = 'h'
	tableRobots   = 'r'
	tableWake     = 'w'
	tableOutbox   = 'o'
	tableContents = 'c'
	tableMeta     = 'm'

	nodePartition crawl.Partition = math.MaxUint16
	nodeVersion                   = 'v'
	nodeStates                    = 'p'
	nodeDead                      = 'x'
	nodeSets                      = 'i'
)

// MaxPartition is the highest number that a partition may have.
const MaxPartition crawl.Partition = nodePartition - 1

// prefixLen is the length of partition and generation in front of each key.
// What follows is the relative key, which means the same on every node.
const prefixLen = 6

func appendPrefix(b []byte, p crawl.Partition, gen uint32) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(p))
	return binary.BigEndian.AppendUint32(b, gen)
}

func appendHost(b []byte, table byte, h crawl.Host) []byte {
	return append(append(b, table), h...)
}

func appendRecordKey(b []byte, h crawl.Host, fp fingerprint) []byte {
	b = append(appendHost(b, tableRecords, h), 0)
	return append(b, fp[:]...)
}

func appendQueueKey(b []byte, h crawl.Host, band crawl.Band, seq uint64) []byte {
	b = append(appendHost(b, tableQueue, h), 0, byte(band))
	return binary.BigEndian.AppendUint64(b, seq)
}

func appendRobotsKey(b []byte, h crawl.Host, tag string) []byte {
	b = append(appendHost(b, tableRobots, h), 0)
	return append(b, tag...)
}

func appendWakeKey(b []byte, w wake, h crawl.Host) []byte {
	b = append(b, tableWake, byte(w.band))
	b = binary.BigEndian.AppendUint64(b, w.ms)
	return append(b, h...)
}

func appendOutboxKey(b []byte, k OutboxKey) []byte {
	b = binary.BigEndian.AppendUint16(append(b, tableOutbox), uint16(k.Target))
	return binary.BigEndian.AppendUint64(b, k.Seq)
}

func appendContentKey(b []byte, d crawl.Digest) []byte {
	return append(append(b, tableContents), d[:]...)
}

// nodeKey is an absolute key of the node's own range.
func nodeKey(table byte, rest ...byte) []byte {
	return append(append(appendPrefix(nil, nodePartition, 0), table), rest...)
}

func stateKey(p crawl.Partition) []byte {
	return nodeKey(nodeStates, binary.BigEndian.AppendUint16(nil, uint16(p))...)
}

func setKey(p crawl.Partition) []byte {
	return nodeKey(nodeSets, binary.BigEndian.AppendUint16(nil, uint16(p))...)
}

func deadKey(g generation) []byte {
	return nodeKey(nodeDead, appendPrefix(nil, g.partition, g.number)...)
}

// generation names one copy of a partition in the store of this node.
type generation struct {
	partition crawl.Partition
	number    uint32
}

// seqOfQueueKey reads the sequence number at the end of a queue key.
func seqOfQueueKey(key []byte) (uint64, bool) {
	if len(key) < 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(key[len(key)-8:]), true
}

// fingerprintOfKey reads the fingerprint at the end of a record key.
func fingerprintOfKey(key []byte) (fp fingerprint, ok bool) {
	if len(key) < prefixLen+1+len(fp) {
		return fp, false
	}
	copy(fp[:], key[len(key)-len(fp):])
	return fp, true
}

// wake is a host's place in the wake index.
type wake struct {
	band crawl.Band
	ms   uint64 // on the partition's timeline in milliseconds, rounded up; 0: at once
}

// wakeOf is the place of a host whose best queued band is band.
func wakeOf(band crawl.Band, s *crawl.HostState) wake {
	at := crawl.Latest(s.NotBefore, crawl.Latest(s.FrozenUntil, s.HoldUntil))
	if at.IsZero() || at.UnixMilli() < 0 {
		return wake{band: band}
	}
	return wake{band: band, ms: uint64(at.Add(time.Millisecond - 1).UnixMilli())}
}

func (w wake) time() time.Time {
	if w.ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(min(w.ms, math.MaxInt64))).UTC()
}

// parseWakeKey reads a relative wake key.
func parseWakeKey(rel []byte) (w wake, h crawl.Host, ok bool) {
	if len(rel) < 10 || rel[0] != tableWake || rel[1] >= crawl.Bands {
		return wake{}, "", false
	}
	w = wake{band: crawl.Band(rel[1]), ms: binary.BigEndian.Uint64(rel[2:])}
	return w, crawl.Host(rel[10:]), true
}

// parseOutboxKey reads a relative outbox key.
func parseOutboxKey(rel []byte) (OutboxKey, bool) {
	if len(rel) != 11 || rel[0] != tableOutbox {
		return OutboxKey{}, false
	}
	return OutboxKey{Target: crawl.Partition(binary.BigEndian.Uint16(rel[1:])), Seq: binary.BigEndian.Uint64(rel[3:])}, true
}

// metaKey is the relative key of a partition's sequence number and counters.
const metaKey = string(tableMeta)

// isMeta reports whether a relative key is that of sequence and counters.
func isMeta(rel []byte) bool { return string(rel) == metaKey }

// OutboxKey names a waiting link within the partition of its page. Keys are in
// the order of the target partition, then of age.
type OutboxKey struct {
	Target crawl.Partition
	Seq    uint64 // from 1
}
