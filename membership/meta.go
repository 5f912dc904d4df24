package membership

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/hashicorp/memberlist"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// meta is what a node carries in its gossip metadata. The id is the gossip
// name and the gossip address is known to the receiver, so neither is in here.
type meta struct {
	Boot      crawl.Boot
	Status    consensus.Status
	Name      string
	Cluster   consensus.Cluster
	RPC, HTTP string
	consensus.Process
}

// The encoding, at most 512 bytes (memberlist.MetaMaxSize):
//
//	version     1 byte, 1
//	status      1 byte
//	cluster id  1 byte length (0 or 16), raw bytes
//	boot, partitions, replication, virtual nodes, protocol, pid, started   uvarint each
//	name, cluster name, RPC, HTTP, machine                   1 byte length, UTF-8
//
// What follows is a later release's and is ignored. The order up to the protocol
// never changes: by it a node of another release is told what keeps it out.
const metaVersion = 1

// errMeta is returned for metadata that is not ours.
var errMeta = errors.New("its gossip metadata cannot be read")

func (m *meta) encode() ([]byte, error) {
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
	if len(out) > memberlist.MetaMaxSize {
		return nil, fmt.Errorf("membership: name and addresses take %d bytes of gossip metadata, at most %d fit", len(out), memberlist.MetaMaxSize)
	}
	return out, nil
}

type boundText struct {
	what  string
	text  *string
	bytes int
}

// texts lists the fields of text in the order of the encoding.
func (m *meta) texts() []boundText {
	return []boundText{
		{"node name", &m.Name, consensus.MaxNameBytes},
		{"cluster name", &m.Cluster.Name, consensus.MaxNameBytes},
		{"RPC address", &m.RPC, consensus.MaxAddressBytes},
		{"HTTP address", &m.HTTP, consensus.MaxAddressBytes},
		{"machine", &m.Machine, consensus.MaxMachineBytes},
	}
}

// numbers lists the numeric fields in the order of the encoding.
func (m *meta) numbers() []uint64 {
	c := m.Cluster
	return []uint64{
		uint64(m.Boot), uint64(c.Partitions), uint64(c.Replication), uint64(c.VirtualNodes), uint64(c.Protocol),
		uint64(m.PID), m.Started,
	}
}

func decodeMeta(b []byte) (m meta, err error) {
	r := metaReader{rest: b}
	protocol := 0
	defer func() {
		if err != nil && protocol != 0 && protocol != ProtocolVersion {
			err = fmt.Errorf("%w: it speaks protocol version %d, we speak %d (run the same release)", errMeta, protocol, ProtocolVersion)
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
			return meta{}, fmt.Errorf("%w: %w", errMeta, err)
		}
	}
	if r.failed || version != metaVersion || m.Status > consensus.Left || m.Boot < 1 || m.PID > consensus.MaxPID {
		return meta{}, fmt.Errorf("%w: %d bytes of version %d", errMeta, len(b), version)
	}
	if m.Cluster.ID != "" && m.Cluster.ID.Validate() != nil {
		return meta{}, fmt.Errorf("%w: the cluster id has a wrong length", errMeta)
	}
	return m, nil
}

// metaReader reads fields until one is missing; then all further ones are zero.
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

// number reads a uvarint of at most maxNumber.
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
