package membership

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// Storage keeps one small document, the node's membership state.
type Storage interface {
	// Load returns what Save stored last, or nil when nothing was ever stored.
	Load() ([]byte, error)
	// Save replaces the document. When it returns nil the document survives a
	// crash and a power loss; when it fails, the old one or the new one does.
	Save([]byte) error
}

// Errors of Open that concern what is on the disk.
var (
	// ErrCorrupt: the state file is damaged. It must not be replaced by a new
	// one under the same id: the node would forget what it promised.
	ErrCorrupt = errors.New("membership: the state file is damaged")
	// ErrForeign: the state file is not what this node expects: written by a
	// newer release, or the data of another cluster.
	ErrForeign = errors.New("membership: the data directory belongs to something else")
)

// FileName is the name of the state file in the data directory.
const FileName = "membership.json"

// File is a Storage in a file.
type File struct {
	name    string
	replace func(path string, content []byte) error
}

// NewFile returns a Storage in FileName in dir, which must exist. replace gives a file a
// new content as Save must; blanks behind it do no harm.
func NewFile(dir string, replace func(path string, content []byte) error) *File {
	return &File{filepath.Join(dir, FileName), replace}
}

// Load implements Storage.
func (f *File) Load() ([]byte, error) {
	out, err := os.ReadFile(f.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("membership: read state: %w", err)
	}
	return out, nil
}

// Save implements Storage.
func (f *File) Save(doc []byte) error {
	if err := f.replace(f.name, doc); err != nil {
		return fmt.Errorf("membership: write state: %w", err)
	}
	return nil
}

// Memory is a Storage for simulations: it outlives the node, not the process.
// It is safe for concurrent use.
type Memory struct {
	mu  sync.Mutex
	doc []byte
}

// Load implements Storage.
func (m *Memory) Load() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.doc), nil
}

// Save implements Storage.
func (m *Memory) Save(doc []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doc = slices.Clone(doc)
	return nil
}

// document is the content of the state file.
type document struct {
	ID      crawl.NodeID      `json:"id"`
	Boot    crawl.Boot        `json:"boot"` // of the last start
	Cluster consensus.Cluster `json:"cluster"`
	State   consensus.State   `json:"state"`
	Peers   []string          `json:"peers"` // gossip addresses, host:port
	// Former are the last members that are none any more, oldest first. They
	// may come back after a cut, and they can be forgotten.
	Former []former `json:"former,omitempty"`
}

// former is a node that was a member once.
type former struct {
	ID   crawl.NodeID `json:"id"`
	Name string       `json:"name"`
	// Gossip is its last address, "" when it left politely.
	Gossip string `json:"gossip,omitempty"`
}

// maxFormer bounds the former members kept.
const maxFormer = 64

// moved keeps the former members when old is replaced by v: the barred are of
// no more use, those that are back are none.
func (d *document) moved(old, v *View) {
	out := slices.DeleteFunc(slices.Clone(d.Former), func(f former) bool { return listed(v, f.ID) || v.Bars(f.ID) })
	for _, m := range old.Members {
		if listed(v, m.ID) || v.Bars(m.ID) {
			continue
		}
		f := former{ID: m.ID, Name: m.Name, Gossip: m.Gossip}
		if slices.Contains(v.Left, Departure{ID: m.ID, Boot: m.Boot}) {
			f.Gossip = ""
		}
		out = append(out, f)
	}
	d.Former = out[max(len(out)-maxFormer, 0):]
}

// maxPeers bounds the addresses kept for finding the cluster again.
const maxPeers = 256

// envelope is the file itself: {"format":1,"crc":N,"body":{...}}. The checksum
// is CRC-32 (Castagnoli) of the bytes of body as they stand in the file.
type envelope struct {
	Format int             `json:"format"`
	CRC    uint32          `json:"crc"`
	Body   json.RawMessage `json:"body"`
}

const fileFormat = 1

func encodeDocument(d *document) []byte {
	body, err := json.Marshal(d)
	if err == nil {
		body, err = json.Marshal(envelope{Format: fileFormat, CRC: checksum(body), Body: body})
	}
	if err != nil {
		panic("BUG: the membership state cannot be encoded: " + err.Error())
	}
	return append(body, '\n')
}

// decodeDocument reads a state file; ErrCorrupt or ErrForeign.
func decodeDocument(raw []byte) (*document, error) {
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if e.Format != fileFormat {
		return nil, fmt.Errorf("%w: state file of format %d, this release reads %d", ErrForeign, e.Format, fileFormat)
	}
	if got := checksum(e.Body); got != e.CRC {
		return nil, fmt.Errorf("%w: checksum %08x, expected %08x", ErrCorrupt, got, e.CRC)
	}
	d := new(document)
	if err := json.Unmarshal(e.Body, d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err := d.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return d, nil
}

func (d *document) validate() error {
	if err := consensus.ValidateID(d.ID); err != nil {
		return err
	}
	if d.Boot < 1 || d.Boot > consensus.MaxNumber {
		return fmt.Errorf("boot %d is out of range", d.Boot)
	}
	if (d.Cluster.ID != "") != (d.State.View != nil) {
		return errors.New("a cluster without a view, or the reverse")
	}
	if v := d.State.View; v != nil {
		if err := v.Validate(); err != nil {
			return err
		}
		if v.Cluster != d.Cluster {
			return errors.New("the view is of another cluster")
		}
	}
	if err := consensus.ValidateIDs(d.State.Forgotten); err != nil {
		return fmt.Errorf("forgotten: %w", err)
	}
	if len(d.Former) > maxFormer {
		return fmt.Errorf("%d former members, at most %d are kept", len(d.Former), maxFormer)
	}
	if v := d.State.AcceptedView; v != nil {
		if err := v.Validate(); err != nil {
			return err
		}
		if d.State.View == nil || v.Number != d.State.View.Number+1 {
			return fmt.Errorf("accepted view %d does not follow the installed one", v.Number)
		}
	}
	return nil
}

// upgrade lets a cluster of an older release go on with this one: what its views
// say of the protocol is what the program speaks that runs them. Members that run
// the older release still are refused by gossip, so it takes effect as they follow.
func (d *document) upgrade() {
	clusters := []*consensus.Cluster{&d.Cluster}
	for _, v := range []*View{d.State.View, d.State.AcceptedView} {
		if v != nil {
			clusters = append(clusters, &v.Cluster)
		}
	}
	for _, c := range clusters {
		c.Protocol = max(c.Protocol, ProtocolVersion)
	}
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
