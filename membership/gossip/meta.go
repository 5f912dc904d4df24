package gossip

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"github.com/hashicorp/memberlist"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// Meta is a node's gossip metadata. It has neither the id, which is the gossip name,
// nor the gossip address, which the receiver knows.
type Meta struct {
	Boot      crawl.Boot
	Status    consensus.Status
	Name      string
	Cluster   consensus.Cluster
	RPC, HTTP string
	consensus.Process
	consensus.Place
}

// The encoding, at most 512 bytes (memberlist.MetaMaxSize):
//
//	version     1 byte, 1
//	status      1 byte
//	cluster id  1 byte length (0 or 16), raw bytes
//	boot, partitions, replication, virtual nodes, protocol, pid, started   uvarint each
//	name, cluster name, RPC, HTTP, machine                   1 byte length, UTF-8
//	weight      1 byte, 0 counts as 1
//	changes     uvarint
//	zone        1 byte length, UTF-8
//
// Bytes behind the last field are a later release's and are ignored. The order up to the
// protocol never changes: so a node of another release can name the difference in its
// error.
const metaVersion = 1

// errMeta is returned for metadata of another format.
var errMeta = errors.New("its gossip metadata cannot be read")

// CheckSize returns an error that says what is too long, if the metadata cannot be sent.
func (m *Meta) CheckSize() error {
	_, err := m.encode()
	return err
}

// sighting is what the metadata of the node with this id say of it.
func (m *Meta) sighting(id crawl.NodeID, address string) consensus.Sighting {
	return consensus.Sighting{ID: id, Name: m.Name, Boot: m.Boot, Status: m.Status, RPC: m.RPC, HTTP: m.HTTP, Gossip: address, Process: m.Process, Place: m.Place}
}

func (m *Meta) encode() ([]byte, error) {
	id, err := hex.DecodeString(string(m.Cluster.ID))
	if err != nil {
		panic("BUG: cluster id " + string(m.Cluster.ID))
	}
	out := []byte{metaVersion, byte(m.Status), byte(len(id))}
	out = append(out, id...)
	for _, n := range m.numbers() {
		out = binary.AppendUvarint(out, n)
	}
	for _, s := range m.texts() {
		out = append(append(out, byte(len(*s.text))), *s.text...)
	}
	out = binary.AppendUvarint(append(out, byte(m.Weight)), uint64(m.Changes))
	out = append(append(out, byte(len(m.Zone))), m.Zone...)
	if len(out) > memberlist.MetaMaxSize {
		return nil, fmt.Errorf("membership: name, addresses and zone take %d bytes of gossip metadata, at most %d fit", len(out), memberlist.MetaMaxSize)
	}
	return out, nil
}

type boundText struct {
	what  string
	text  *string
	bytes int
}

// texts lists the fields of text in the order of the encoding.
func (m *Meta) texts() []boundText {
	return []boundText{
		{"node name", &m.Name, consensus.MaxNameBytes},
		{"cluster name", &m.Cluster.Name, consensus.MaxNameBytes},
		{"RPC address", &m.RPC, consensus.MaxAddressBytes},
		{"HTTP address", &m.HTTP, consensus.MaxAddressBytes},
		{"machine", &m.Machine, consensus.MaxMachineBytes},
	}
}

// numbers lists the numeric fields in the order of the encoding.
func (m *Meta) numbers() []uint64 {
	c := m.Cluster
	return []uint64{
		uint64(m.Boot), uint64(c.Partitions), uint64(c.Replication), uint64(c.VirtualNodes), uint64(c.Protocol),
		uint64(m.PID), m.Started,
	}
}

func decodeMeta(b []byte) (m Meta, err error) {
	r := metaReader{rest: b}
	protocol := 0
	defer func() {
		if err != nil && protocol != 0 && protocol != consensus.ProtocolVersion {
			err = fmt.Errorf("%w: it speaks protocol version %d, we speak %d (run the same release)", errMeta, protocol, consensus.ProtocolVersion)
		}
	}()
	version := r.byte()
	m.Status = consensus.Status(r.byte())
	if id := r.text(); id != "" {
		m.Cluster.ID = consensus.ClusterID(hex.EncodeToString([]byte(id)))
	}
	m.Boot = crawl.Boot(r.number())
	m.Cluster.Partitions, m.Cluster.Replication = int(r.number()), int(r.number())
	m.Cluster.VirtualNodes, m.Cluster.Protocol = int(r.number()), int(r.number())
	if !r.failed {
		protocol = m.Cluster.Protocol
	}
	m.PID, m.Started = int(r.number()), r.number()
	for _, t := range m.texts() {
		*t.text = r.text()
		if err := consensus.ValidateText(t.what, *t.text, t.bytes); err != nil {
			return Meta{}, fmt.Errorf("%w: %w", errMeta, err)
		}
	}
	m.Weight = int(r.byte())
	changes := r.number()
	m.Changes, m.Zone = uint32(changes), r.text()
	if err := m.Place.Validate(); err != nil {
		return Meta{}, fmt.Errorf("%w: %w", errMeta, err)
	}
	if changes > math.MaxUint32 {
		r.failed = true
	}
	if r.failed || version != metaVersion || m.Status > consensus.Left || m.Boot < 1 || m.PID > consensus.MaxPID {
		return Meta{}, fmt.Errorf("%w: %d bytes of version %d", errMeta, len(b), version)
	}
	if m.Cluster.ID != "" && m.Cluster.ID.Validate() != nil {
		return Meta{}, fmt.Errorf("%w: the cluster id has a wrong length", errMeta)
	}
	return m, nil
}

// metaReader reads fields until one is missing; then all later ones are zero.
type metaReader struct {
	rest   []byte
	failed bool
}

func (r *metaReader) byte() byte {
	if len(r.rest) == 0 {
		r.failed = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// number reads a uvarint of at most consensus.MaxNumber.
func (r *metaReader) number() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > consensus.MaxNumber {
		r.failed = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *metaReader) text() string {
	n := int(r.byte())
	if n > len(r.rest) {
		r.failed = true
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}
