package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// Document is the content of the state file.
type Document struct {
	ID      crawl.NodeID      `json:"id"`
	Boot    crawl.Boot        `json:"boot"` // of the last start
	Cluster consensus.Cluster `json:"cluster"`
	State   consensus.State   `json:"state"`
	Peers   []string          `json:"peers"` // gossip addresses, host:port
	// Former are nodes that were members once, oldest first, at most 64. They may
	// return after a cut, and they can be forgotten.
	Former []Former `json:"former,omitempty"`
	// Weight and Zone are what was changed while the node ran, nil for nothing.
	Weight *Changed[int]    `json:"weight,omitempty"`
	Zone   *Changed[string] `json:"zone,omitempty"`
}

// Changed is a setting that was changed while the node ran, and the flag with which it ran: with
// another flag the change is over.
type Changed[T comparable] struct {
	Value T `json:"value"`
	Flag  T `json:"flag"`
}

// Keep returns the change if it still counts for a node that is started with this flag, else nil.
func (c *Changed[T]) Keep(flag T) *Changed[T] {
	if c == nil || c.Flag != flag || c.Value == flag {
		return nil
	}
	return c
}

// Former is a node that was a member once.
type Former struct {
	ID   crawl.NodeID `json:"id"`
	Name string       `json:"name"`
	// Gossip is its last address, "" when it left politely.
	Gossip string `json:"gossip,omitempty"`
}

// maxFormer bounds the former members kept.
const maxFormer = 64

// Replace notes the members of the view old that its successor v does not list. Barred
// nodes and those that v lists again leave Former.
func (d *Document) Replace(old, v *consensus.View) {
	out := slices.DeleteFunc(slices.Clone(d.Former), func(f Former) bool { return listed(v, f.ID) || v.Bars(f.ID) })
	for _, m := range old.Members {
		if listed(v, m.ID) || v.Bars(m.ID) {
			continue
		}
		f := Former{ID: m.ID, Name: m.Name, Gossip: m.Gossip}
		if slices.Contains(v.Left, consensus.Departure{ID: m.ID, Boot: m.Boot}) {
			f.Gossip = ""
		}
		out = append(out, f)
	}
	d.Former = out[max(len(out)-maxFormer, 0):]
}

// MaxPeers bounds Document.Peers, the addresses for finding the cluster again.
const MaxPeers = 256

// envelope is the file itself: {"format":1,"crc":N,"body":{...}}. The checksum
// is CRC-32 (Castagnoli) of the bytes of body as written in the file.
type envelope struct {
	Format int             `json:"format"`
	CRC    uint32          `json:"crc"`
	Body   json.RawMessage `json:"body"`
}

const fileFormat = 1

// Encode returns the content of the state file.
func Encode(d *Document) []byte {
	body, err := json.Marshal(d)
	if err == nil {
		body, err = json.Marshal(envelope{Format: fileFormat, CRC: checksum(body), Body: body})
	}
	if err != nil {
		panic("BUG: the membership state cannot be encoded: " + err.Error())
	}
	return append(body, '\n')
}

// Decode reads the content of a state file. Its errors are ErrCorrupt and ErrForeign.
func Decode(raw []byte) (*Document, error) {
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if e.Format == 0 {
		return nil, fmt.Errorf("%w: it names no format", ErrCorrupt)
	}
	if e.Format != fileFormat {
		return nil, fmt.Errorf("%w: state file of format %d, this release reads %d", ErrForeign, e.Format, fileFormat)
	}
	if got := checksum(e.Body); got != e.CRC {
		return nil, fmt.Errorf("%w: checksum %08x, expected %08x", ErrCorrupt, got, e.CRC)
	}
	d := new(Document)
	if err := json.Unmarshal(e.Body, d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err := d.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return d, nil
}

func (d *Document) validate() error {
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
	if err := d.validatePlace(); err != nil {
		return err
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

func (d *Document) validatePlace() error {
	var p consensus.Place
	if d.Weight != nil {
		if p.Weight = d.Weight.Value; p.Weight == 0 {
			return errors.New("a weight of 0")
		}
	}
	if d.Zone != nil {
		p.Zone = d.Zone.Value
	}
	return p.Validate()
}

// Upgrade lets a cluster of an older release continue with this one: it raises the
// protocol version in all views to this release's. Gossip refuses members that still
// run the older release, so they return as they are upgraded.
func (d *Document) Upgrade() {
	clusters := []*consensus.Cluster{&d.Cluster}
	for _, v := range []*consensus.View{d.State.View, d.State.AcceptedView} {
		if v != nil {
			clusters = append(clusters, &v.Cluster)
		}
	}
	for _, c := range clusters {
		c.Protocol = max(c.Protocol, consensus.ProtocolVersion)
	}
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func listed(v *consensus.View, id crawl.NodeID) bool {
	_, ok := v.Member(id)
	return ok
}
